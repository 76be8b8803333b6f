internal import Dispatch
internal import Logging
internal import Synchronization

/// Checks, while handlers run, whether their executor runs anything, and logs a warning if not.
///
/// It uses a system timer on its own queue: the executor on which clocks sleep may be the blocked one.
final class HandlerWatch: Sendable {
    private let machine: Mutex<HandlerWatchStateMachine>
    private let threshold: Duration
    private let options: BrokerOptions
    private let queue: DispatchQueue
    /// Whether the timer is on; checked for each handler that starts.
    private let isOn = Atomic(false)
    private let timer = Mutex<Timer?>(nil)

    // A dispatch source may be used from any thread.
    private struct Timer: @unchecked Sendable { let source: any DispatchSourceTimer }

    init?(_ options: BrokerOptions) {
        guard let threshold = options.blockedHandlerThreshold else { return nil }
        (self.threshold, self.options) = (threshold, options)
        machine = Mutex(HandlerWatchStateMachine(threshold: threshold))
        queue = options.engine.queue("sluice.handlers", qos: .utility)
    }

    deinit { timer.withLock { $0?.source.cancel() } }

    var blockedSince: Timestamp? { machine.withLock { $0.blockedSince } }

    /// Starts the checks when a handler starts; `isBusy` tells whether handlers run.
    func began(_ isBusy: @escaping @Sendable () -> Bool) {
        guard !isOn.load(ordering: .relaxed), !isOn.exchange(true, ordering: .relaxed) else { return }
        let source = DispatchSource.makeTimerSource(queue: queue)
        let interval = DispatchTimeInterval.microseconds(Int(clamping: threshold.wholeMicroseconds))
        source.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(10))
        source.setEventHandler { [weak self] in self?.look(isBusy) }
        source.activate()
        timer.withLock { timer in
            timer?.source.cancel()
            timer = Timer(source: source)
        }
    }

    private func look(_ isBusy: @escaping @Sendable () -> Bool) {
        let clock = options.clock
        switch machine.withLock({ $0.look(at: clock.uptime, clock.now, isBusy: isBusy()) }) {
        case .wait: break
        case .probe: Task(executorPreference: options.handlerExecutor) { self.answered() }
        case .tell(let since):
            options.logger.warning(
                "handlers block their threads: await instead, or set BrokerOptions.handlerExecutor",
                metadata: ["since": "\(since.iso8601)"]
            )
        case .end:
            timer.withLock { timer in
                timer?.source.cancel()
                timer = nil
            }
            isOn.store(false, ordering: .relaxed)
            // A handler may have started in between, and found the timer on.
            if isBusy() { began(isBusy) }
        }
    }

    private func answered() {
        if machine.withLock({ $0.answered() }) { options.logger.notice("handlers run again") }
    }
}
