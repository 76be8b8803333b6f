#if PostgreSQL
internal import Sluice

extension ClaimedAction {
    /// An event about the action.
    func event(_ kind: QueueEvent.Kind, at time: Timestamp) -> QueueEvent {
        var event = QueueEvent(kind, at: time.date, queue: queue)
        event.action = receipt.action
        event.actionKind = self.kind
        event.attempt = number
        return event
    }

    /// What an attempt's end has done.
    func events(_ settlement: Settlement, _ result: SettleResult, at time: Timestamp) -> [QueueEvent] {
        switch (result, settlement) {
        case (.stale, _): return []
        case (.removed, _): return [event(.removed, at: time)]
        case (.settledByApplication, _), (.settled, .success), (.settled, .successWriting):
            return [event(.succeeded, at: time)]
        case (.settled, .retry(let delay, let gate, _, let error)):
            var event = event(.retrying, at: time)
            (event.delay, event.gate, event.error) = (delay, gate, error)
            return [event]
        case (.settled, .release(_, let gate, _, let error)):
            var event = event(.released, at: time)
            (event.gate, event.error) = (gate, error)
            return [event]
        case (.settled, .stop): return [event(.released, at: time)]
        case (.settled, .fail(let cause, let policy, let error)):
            var failed = event(.failed, at: time)
            (failed.cause, failed.policy, failed.error) = (cause, policy, error)
            guard policy != .block else { return [failed] }
            var dead = event(.deadLettered, at: time)
            (dead.deadLetterCause, dead.error) = (DeadLetterCause(cause), error)
            return [failed, dead]
        }
    }
}
#endif
