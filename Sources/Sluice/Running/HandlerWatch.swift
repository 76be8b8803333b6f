internal import Logging
internal import Synchronization

/// Checks, while handlers run, whether their executor runs anything, and logs a warning if not.
///
/// It uses a system timer on its own queue: the executor on which clocks sleep may be the blocked one.
final class HandlerWatch: Sendable {
    private let machine: Mutex<HandlerWatchStateMachine>
    private let threshold: Duration
    private let options: BrokerOptions
    private let queue: any WorkQueue
    /// Whether the timer is on; checked for each handler that starts.
    private let isOn = Atomic(false)
    private let timer = Mutex<(any WorkTimer)?>(nil)

    init?(_ options: BrokerOptions) {
        guard let threshold = options.blockedHandlerThreshold else { return nil }
        (self.threshold, self.options) = (threshold, options)
        machine = Mutex(HandlerWatchStateMachine(threshold: threshold))
        queue = options.engine.queue("sluice.handlers", isUrgent: false)
    }

    var blockedSince: Timestamp? { machine.withLock { $0.blockedSince } }

    /// Starts the checks when a handler starts; `isBusy` tells whether handlers run.
    func began(_ isBusy: @escaping @Sendable () -> Bool) {
        guard !isOn.load(ordering: .relaxed), !isOn.exchange(true, ordering: .relaxed) else { return }
        let new = queue.timer { [weak self] in
            guard let self else { return }
            setTimer()
            look(isBusy)
        }
        timer.withLock { $0 = new }
        setTimer()
    }

    private func setTimer() {
        let time = options.engine.place.now + threshold
        timer.withLock { $0?.set(time) }
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
            timer.withLock { $0 = nil }
            isOn.store(false, ordering: .relaxed)
            // A handler may have started in between, and found the timer on.
            if isBusy() { began(isBusy) }
        }
    }

    private func answered() {
        if machine.withLock({ $0.answered() }) { options.logger.notice("handlers run again") }
    }
}
