package import Dispatch

/// The system's threads and time, by Dispatch.
package final class SystemPlace: WorkPlace {
    private let target: DispatchQueue?

    /// - Parameter target: The target of the queues; `nil` for the system's.
    package init(_ target: DispatchQueue? = nil) { self.target = target }

    /// Makes a queue; with a target, it has the target's quality of service.
    package func queue(_ label: String, isUrgent: Bool) -> any WorkQueue {
        guard let target else {
            return DispatchQueue(label: label, qos: isUrgent ? .userInitiated : .utility)
        }
        return DispatchQueue(label: label, target: target)
    }

    package func signal() -> any WorkSignal { DispatchSemaphore(value: 0) }

    package func watch(
        _ path: String,
        on queue: any WorkQueue,
        fired: @escaping @Sendable () -> Void
    ) -> (any WorkWatch)? { FileWatch(path: path, queue: queue, fired: fired) }

    package var now: Duration { Self.now }
    package func spread(_ time: Duration) -> Duration { time * Double.random(in: 0.5...1) }
    package func sleep(for time: Duration) async throws { try await ContinuousClock().sleep(for: time) }

    private static let origin = ContinuousClock.now
    fileprivate static var now: Duration { origin.duration(to: .now) }
}

extension DispatchQueue: WorkQueue {
    package func add(_ job: @escaping @Sendable () -> Void) { async(execute: job) }
    package func checkIsCurrent() { dispatchPrecondition(condition: .onQueue(self)) }
    package func timer(_ fired: @escaping @Sendable () -> Void) -> any WorkTimer { SystemTimer(self, fired) }
}

extension DispatchSemaphore: WorkSignal {
    package func send() { signal() }

    package func wait(atMost time: Duration) -> Bool {
        wait(timeout: .now() + .nanoseconds(Int(clamping: time.wholeNanoseconds))) == .success
    }
}

// A dispatch source may be used from any thread.
private final class SystemTimer: WorkTimer, @unchecked Sendable {
    private let source: any DispatchSourceTimer

    init(_ queue: DispatchQueue, _ fired: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler(handler: fired)
        source.activate()
    }

    deinit { source.cancel() }

    func set(_ time: Duration?) {
        let delay = time.map { max($0 - SystemPlace.now, .zero).wholeNanoseconds }
        source.schedule(
            deadline: delay.map { .now() + .nanoseconds(Int(clamping: $0)) } ?? .distantFuture,
            leeway: .nanoseconds(0)
        )
    }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
