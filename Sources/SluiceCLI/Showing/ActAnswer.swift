#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What the tool answers to an act.
struct ActAnswer {
    let sentence: String
    /// The members of the answer in JSON, with their values.
    let members: [(name: String, value: String)]

    init(_ sentence: String, _ members: [(name: String, value: String)]) {
        (self.sentence, self.members) = (sentence, members)
    }

    /// The answer about a thing with a number.
    fileprivate init(_ id: ActionID, _ word: String, _ sentence: String) {
        self.init(sentence, [("id", id.description), ("result", JSONText.string(word))])
    }
}

extension Act {
    /// Whether nothing is left to be done: else the verb ends with status 1.
    func isComplete(_ result: ActResult) -> Bool {
        switch kind {
        case .cancelAll, .retryNow, .runNow, .endHolds, .purgeAll: true
        case .requeueAll: result.keptCount == 0
        case .cancel, .move, .moveToFront, .edit, .reschedule, .setExpiry, .setTag, .skipHead, .hold,
            .endHold, .openGate, .closeGate, .requeue, .requeueAtEnd, .purge:
            result.outcome == .done || result.outcome == .deferred
        }
    }

    /// The state of the thing if the act fails; `nil` where the error alone says it.
    var failure: String? {
        switch self {
        case .move(let id, _), .moveToFront(let id): "\(id) stays where it is"
        case .edit(let id, _, _, _), .reschedule(let id, _), .setExpiry(let id, _), .setTag(let id, _):
            "\(id) is left as it is"
        case .requeue(let id), .requeueAtEnd(let id): "\(id) stays a dead letter"
        case .cancel, .skipHead, .retryNow, .runNow, .hold, .endHolds, .endHold, .openGate, .closeGate,
            .requeueAll, .purge, .purgeAll:
            nil
        }
    }

    /// Returns the result in words, with what can be done next.
    func answer(_ result: ActResult, _ broker: Broker) async throws -> ActAnswer {
        switch self {
        case .cancel(.action(let id)): return try await cancelled(id, result, broker)
        case .cancel(.tag), .cancel(.queues):
            return ActAnswer(
                "\(result.done) removed, \(result.deferred) signalled",
                [("removed", String(result.done)), ("signalled", String(result.deferred))]
            )
        case .move(let id, to: let queue):
            return try await result.answer(
                id,
                "is moved to \(queue)",
                "it moves when its attempt ends",
                broker
            )
        case .moveToFront(let id):
            return try await result.answer(id, "is at the front of its queue", "it is not moved", broker)
        case .edit(let id, _, _, _):
            let later = "its next attempt gets the new payload"
            return try await result.answer(id, "has a new payload", later, broker)
        case .reschedule(let id, notBefore: let time):
            let later = time.map(\.date).flatMap { $0 > Date() ? $0 : nil }
            let done = later.map { "is scheduled for \(Times.text($0))" } ?? "is due now"
            return try await result.answer(id, done, "it is not changed", broker)
        case .setExpiry(let id, let time):
            let end = time.map { "expires at \(Times.text($0.date))" } ?? "does not expire"
            return try await result.answer(id, end, "after this attempt it \(end)", broker)
        case .setTag(let id, let tag):
            let done = tag.map { "has the tag \($0)" } ?? "has no tag"
            return try await result.answer(id, done, "it \(done)", broker)
        case .skipHead(of: let queue, _, _): return skipped(queue, result)
        case .retryNow(let queues): return retried(queues, result)
        case .runNow: return counted("\(result.done) queues are started", "queues", result)
        case .hold(let pattern, by: let holder, let reason, _): return held(pattern, holder, reason, result)
        case .endHolds(of: let pattern, _):
            return counted("\(result.done) holds of \(pattern) have ended", "holds", result)
        case .endHold(let id): return endedHold(id, result)
        case .openGate(let name, _, _): return gate(name, "open")
        case .closeGate(let name, _, _): return gate(name, "closed")
        case .requeue(let id), .requeueAtEnd(let id): return requeued(id, result)
        case .requeueAll:
            return ActAnswer(
                "\(DeadChoice.counted(result.done)) requeued",
                [("requeued", String(result.done)), ("kept", String(result.keptCount))]
            )
        case .purge(let id) where result.outcome == .done: return ActAnswer(id, "purged", "\(id) is purged")
        case .purge(let id): return ActAnswer(id, "missing", Self.noLetter(id))
        case .purgeAll: return counted("\(DeadChoice.counted(result.done)) purged", "purged", result)
        }
    }

    private func counted(_ sentence: String, _ name: String, _ result: ActResult) -> ActAnswer {
        ActAnswer(sentence, [(name, String(result.done))])
    }

    private func held(
        _ pattern: QueuePattern,
        _ holder: String,
        _ reason: String,
        _ result: ActResult
    ) -> ActAnswer {
        let id = result.hold?.description ?? "null"
        return ActAnswer(
            id,
            [
                ("id", id), ("queue", JSONText.string(pattern.rawValue)),
                ("holder", JSONText.string(holder)), ("reason", JSONText.string(reason)),
            ]
        )
    }

    private func endedHold(_ id: HoldID, _ result: ActResult) -> ActAnswer {
        let isEnded = result.outcome == .done
        return ActAnswer(
            isEnded ? "hold \(id) has ended" : "there is no hold \(id); `sluice holds` lists them",
            [("id", id.description), ("result", JSONText.string(isEnded ? "ended" : "missing"))]
        )
    }

    private func cancelled(
        _ id: ActionID,
        _ result: ActResult,
        _ broker: Broker
    ) async throws -> ActAnswer {
        switch result.outcome {
        case .done: return ActAnswer(id, "removed", "\(id) is removed")
        case .deferred:
            let sentence = "\(id) runs; it is removed when its attempt ends, unless it succeeds"
            return ActAnswer(id, "signalled", sentence)
        case .running, .conflict, .missing:
            return ActAnswer(id, "too_late", try await broker.absence(of: id))
        }
    }

    private func skipped(_ queue: QueueName, _ result: ActResult) -> ActAnswer {
        let id = result.action?.description ?? "null"
        let (word, sentence) =
            switch result.outcome {
            case .done, .deferred: ("skipped", "\(id) is skipped; `sluice dead requeue \(id)` puts it back")
            case .running: ("running", "\(id) runs and is left as it is; `sluice remove \(id)` cancels it")
            case .conflict: ("other", "nothing is skipped: by now it would be \(id) of \(queue)")
            case .missing:
                (
                    "empty",
                    "\(queue) has nothing to skip: it is empty, or all its actions are scheduled for later"
                )
            }
        return ActAnswer(
            sentence,
            [("queue", JSONText.string(queue.rawValue)), ("result", JSONText.string(word)), ("id", id)]
        )
    }

    private func retried(_ queues: QueueSelection, _ result: ActResult) -> ActAnswer {
        let count = ("queues", String(result.done))
        let sentence = result.done == 1 ? "1 queue is tried again" : "\(result.done) queues are tried again"
        return switch queues {
        case .matching(let form): ActAnswer(sentence, [("queue", JSONText.string(form.rawValue)), count])
        case .named: ActAnswer(sentence, [count])
        }
    }

    private func gate(_ name: GateName, _ state: String) -> ActAnswer {
        ActAnswer(
            "\(name) is \(state)",
            [("gate", JSONText.string(name.rawValue)), ("state", JSONText.string(state))]
        )
    }

    private func requeued(_ id: ActionID, _ result: ActResult) -> ActAnswer {
        let isThere = result.outcome == .done
        let newID = isThere ? result.action ?? id : nil
        return ActAnswer(
            newID.map { $0 == id ? "\(id) is requeued" : "\(id) is requeued as \($0)" } ?? Self.noLetter(id),
            [
                ("id", id.description), ("result", JSONText.string(isThere ? "requeued" : "missing")),
                ("new_id", newID?.description ?? "null"),
            ]
        )
    }

    private static func noLetter(_ id: ActionID) -> String {
        "\(id) is not a dead letter; `sluice dead list` lists them"
    }
}

extension ActResult {
    /// Returns what has become of a change of an action.
    fileprivate func answer(
        _ id: ActionID,
        _ done: String,
        _ deferred: String,
        _ broker: Broker
    ) async throws -> ActAnswer {
        switch outcome {
        case .done: return ActAnswer(id, "done", "\(id) \(done)")
        case .deferred: return ActAnswer(id, "deferred", "\(id) runs; \(deferred)")
        case .running: return ActAnswer(id, "running", "\(id) runs and is left as it is")
        case .conflict:
            let sentence = "\(id) is left as it is: somebody else has changed its payload meanwhile"
            return ActAnswer(id, "conflict", sentence)
        case .missing: return ActAnswer(id, "too_late", try await broker.absence(of: id))
        }
    }
}

extension Broker {
    /// Explains why an action does not exist, and what can be done.
    func absence(of id: ActionID) async throws -> String {
        guard try await deadLetter(id) != nil else {
            return "too late: \(id) does not exist; `sluice actions` lists all"
        }
        return "too late: \(id) is a dead letter; `sluice dead` requeues and purges dead letters"
    }
}

extension OutputOption {
    /// Does acts, and answers for each; the verb ends with status 1 if one is not done.
    ///
    /// - Parameter preparation: Called before the first act.
    func perform(
        _ acts: [Act],
        _ store: StoreOption,
        _ preparation: (Broker) async throws -> Void = { _ in }
    ) async throws {
        let isComplete = try await store.withBroker { broker in
            try await preparation(broker)
            var isComplete = true
            for act in acts {
                let result = try await perform(act, broker)
                isComplete = isComplete && act.isComplete(result)
            }
            return isComplete
        }
        if !isComplete { throw Failure(.leftover) }
    }

    /// Does an act, and answers with its result.
    @discardableResult
    func perform(_ act: Act, _ broker: Broker) async throws -> ActResult {
        let result: ActResult
        do throws(SluiceError) {
            result = try await broker.perform(act)
        } catch {
            guard let failure = act.failure else { throw error }
            throw Failure(error, leaving: failure)
        }
        answer(try await act.answer(result, broker))
        return result
    }

    func answer(_ answer: ActAnswer) { self.answer(answer.sentence, answer.members) }
}
#endif
