#if Web
internal import Sluice

extension ActForm {
    /// Does it to one.
    ///
    /// - Returns: What happened, in a word or two that can be counted.
    func perform(on subject: Subject, _ broker: Broker, _ person: Operator) async throws -> String {
        if kind == .edit { return try await edit(try subject.action, broker) }
        guard let act = try await act(on: subject, broker, person) else { return "empty" }
        return kind.words(of: try await broker.perform(act))
    }

    /// Returns the act; `nil` if there is nothing to do it to.
    private func act(on subject: Subject, _ broker: Broker, _ person: Operator) async throws -> Act? {
        switch kind {
        case .cancel: return .cancel(.action(try subject.action))
        case .cancelAll: return .cancel(.queues(try subject.pattern.form()))
        case .move: return .move(try subject.action, to: QueueName(try form.required("to")))
        case .moveToFront: return .moveToFront(try subject.action)
        case .skipHead: return try await skip(subject, broker, person)
        case .retryNow: return .retryNow(.matching(try subject.pattern.form()))
        case .hold:
            let reason = form["reason"] ?? ""
            return .hold(try subject.pattern, by: person.name, reason: reason, for: try duration())
        case .endHolds: return .endHolds(of: try subject.pattern, by: nil)
        case .endHold: return .endHold(try subject.hold)
        case .openGate: return .openGate(try subject.gate, isPersistent: true, spread: .zero)
        case .closeGate: return .closeGate(try subject.gate, isPersistent: true, for: try duration())
        case .requeue: return .requeue(try subject.letter)
        case .purge: return .purge(try subject.letter)
        // The first needs the payload that was shown, and the others have no button.
        case .edit, .reschedule, .setExpiry, .setTag, .runNow, .requeueAtEnd, .requeueAll, .purgeAll:
            throw PageError(.invalid, "there is no act '\(kind.rawValue)'")
        }
    }

    /// Skips the head that the operator saw, and no other one that has become the head since.
    private func skip(_ subject: Subject, _ broker: Broker, _ person: Operator) async throws -> Act? {
        guard case .queue(let queue, let head?) = subject else { return nil }
        let last = try await broker.status(of: queue).lastError
        let error = last.map { "; last error: \($0.prefix(500))" } ?? ""
        let reason = form["reason"] ?? "skipped by \(person.name)\(error)"
        return .skipHead(of: queue, only: head, reason: reason)
    }

    /// Stores the payload if the one that was shown is still there, and retries the queue if that was asked.
    private func edit(_ action: ActionID, _ broker: Broker) async throws -> String {
        guard let details = try await broker.action(action).details else { return "ended already" }
        var result = ActResult(.conflict)
        if form["was"] == details.payload.fingerprint {
            let payload = NewPayload.text(try form.payload())
            result = try await broker.perform(
                .edit(action, to: payload, replacing: details.payload, ifRunning: .forNextAttempt)
            )
        }
        switch result.outcome {
        case .conflict:
            throw PageError(
                .conflict,
                "somebody else has changed the payload since you compared it: compare again"
            )
        case .done where form["then"] == "retry":
            let queue = try QueuePattern(details.queue.rawValue).form()
            let retry = try await broker.perform(.retryNow(.matching(queue)))
            return retry.done > 0
                ? "stored, and its queue is tried now" : "stored; its queue waits for no retry"
        case .done: return "stored; if its queue waits for a retry or is parked, it waits until you retry it"
        case .deferred, .running, .missing: return kind.words(of: result)
        }
    }
}
#endif
