#if PostgreSQL
internal import Sluice

extension PostgresLoop {
    /// An event about a claimed action.
    func event(_ kind: QueueEvent.Kind, _ action: ClaimedAction) -> QueueEvent {
        var event = QueueEvent(kind, at: options.clock.now.date, queue: action.queue)
        event.action = action.receipt.action
        event.actionKind = action.kind
        event.attempt = action.number
        return event
    }

    /// What an attempt's end has done.
    func events(_ action: ClaimedAction, _ settlement: Settlement, _ result: SettleResult) -> [QueueEvent] {
        switch (result, settlement) {
        case (.stale, _): return []
        case (.removed, _): return [event(.removed, action)]
        case (.settledByApplication, _), (.settled, .success), (.settled, .successWriting):
            return [event(.succeeded, action)]
        case (.settled, .retry(let delay, let gate, _, let error)):
            var event = event(.retrying, action)
            (event.delay, event.gate, event.error) = (delay, gate, error)
            return [event]
        case (.settled, .release(_, let gate, _, let error)):
            var event = event(.released, action)
            (event.gate, event.error) = (gate, error)
            return [event]
        case (.settled, .stop): return [event(.released, action)]
        case (.settled, .fail(let cause, let policy, let error)):
            var failed = event(.failed, action)
            (failed.cause, failed.policy, failed.error) = (cause, policy, error)
            guard policy != .block else { return [failed] }
            var dead = event(.deadLettered, action)
            (dead.deadLetterCause, dead.error) = (DeadLetterCause(cause), error)
            return [failed, dead]
        }
    }
}
#endif
