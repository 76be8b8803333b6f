internal import Sluice

/// The action that a call of a model is for.
enum ActionTarget: Sendable {
    case action(ActionID)
    /// The newest with the tag when the call is performed, which the model need not have read.
    case newest(tag: String)

    func id(in broker: Broker) async throws(SluiceError) -> ActionID? {
        switch self {
        case .action(let id): return id
        case .newest(let tag): return try await broker.actions(tag: tag, limit: .max).last?.id
        }
    }
}
