#if PostgreSQL
internal import Sluice

extension PostgresRows.Row {
    /// What a step says of an action that it has not claimed, and chores of any.
    func events(at time: Timestamp) -> [QueueEvent] {
        let cause = self["cause"].flatMap { FailureCause(rawValue: $0) }
        let isExpired = cause == .expired
        var event = QueueEvent(
            text("what") == "unrouted" ? .blocked : isExpired ? .expired : .failed,
            at: time.date,
            queue: QueueName(text("queue"))
        )
        event.action = integer("action_id").map { ActionID(rawValue: $0) }
        event.actionKind = self["kind"]
        switch text("what") {
        case "behind":
            (event.kind, event.cause, event.error) = (.deadLettered, .behind, self["last_error"])
            return [event]
        case "crashed":
            (event.kind, event.error) = (.crashed, self["last_error"])
            event.attempt = integer("attempts").map { Int($0) }
            return [event]
        default: break
        }
        guard text("what") == "failed", let cause else {
            event.because = .unknownKind
            return [event]
        }
        let policy = FailurePolicy(rawValue: text("policy")) ?? .block
        (event.cause, event.policy, event.error) = (cause, policy, self["last_error"])
        guard policy != .block else { return [event] }
        var dead = event
        (dead.kind, dead.policy) = (.deadLettered, nil)
        return [event, dead]
    }
}

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
            (dead.cause, dead.error) = (cause, error)
            dead.attempt = nil
            return [failed, dead]
        }
    }
}
#endif
