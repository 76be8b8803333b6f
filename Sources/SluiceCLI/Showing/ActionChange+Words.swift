#if CommandLineTool
internal import Sluice

extension ActionChange {
    /// Whether the change is made, or will be.
    var isMade: Bool { self == .done || self == .deferred }

    /// The word of the result in JSON.
    var word: String {
        switch self {
        case .done: "done"
        case .deferred: "deferred"
        case .running: "running"
        case .conflict: "conflict"
        case .missing: "too_late"
        }
    }

    /// Says what has become of a change of an action.
    func sentence(
        of id: ActionID,
        done: String,
        deferred: String,
        _ broker: Broker
    ) async throws -> String {
        switch self {
        case .done: "\(id) \(done)"
        case .deferred: "\(id) runs; \(deferred)"
        case .running: "\(id) runs and is left as it is"
        case .conflict: "\(id) is left as it is: somebody else has changed its payload meanwhile"
        case .missing: try await Remove.absence(of: id, broker)
        }
    }
}

extension OutputOption {
    /// Changes actions, and answers for each; ends with status 1 if one is not changed.
    func change(
        _ ids: [ActionID],
        _ store: StoreOption,
        done: String,
        deferred: String,
        _ body: (Broker, ActionID) async throws(SluiceError) -> ActionChange
    ) async throws {
        let isComplete = try await store.withBroker { broker in
            var isComplete = true
            for id in ids {
                let change: ActionChange
                do throws(SluiceError) {
                    change = try await body(broker, id)
                } catch {
                    throw Failure(error, leaving: "\(id) is left as it is")
                }
                isComplete = isComplete && change.isMade
                let sentence = try await change.sentence(of: id, done: done, deferred: deferred, broker)
                answer(sentence, [("id", id.description), ("result", JSONText.string(change.word))])
            }
            return isComplete
        }
        if !isComplete { throw Failure(.leftover) }
    }
}
#endif
