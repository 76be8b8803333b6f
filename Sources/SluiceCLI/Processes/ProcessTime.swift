#if CommandLineTool
internal import Sluice
internal import SluiceBackground
internal import Synchronization

/// The time of one process, from its start to its deadline, as processing time for a coordinator.
///
/// A request for more time is reported by the exit status, so that the parent can start the process again.
final class ProcessTime: BackgroundProcessing {
    private struct State {
        var began: (@Sendable () -> Void)?
        var expired: (@Sendable () -> Void)?
        var isOver = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let clock: any BrokerClock
    /// When the last action may start, by the clock's uptime; `nil` is without an end.
    private let end: Duration?

    init(clock: any BrokerClock, end: Duration?) {
        self.clock = clock
        self.end = end
    }

    var timeLeft: Duration? { end.map { max($0 - clock.uptime, .zero) } }

    func connect(began: @escaping @Sendable () -> Void, expired: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.began = began
            state.expired = expired
        }
    }

    /// Begins the time.
    func begin() {
        let began = state.withLock { $0.began }
        began?()
    }

    /// Ends the time, as the deadline is near.
    func expire() {
        let expired = state.withLock { $0.isOver ? nil : $0.expired }
        expired?()
    }

    /// The exit status reports the request.
    func request(after delay: Duration) {}

    func cancelRequest() {}

    func end(isDone: Bool) {
        let waiter = state.withLock { state in
            state.isOver = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits until the time has been given back.
    func ended() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiter = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }
}
#endif
