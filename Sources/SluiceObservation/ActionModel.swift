#if canImport(Observation)
public import Observation
public import Sluice

/// The state of one action for a view, from its enqueue to its end.
///
/// ```swift
/// let upload = ActionModel(broker, receipt.id)
/// Text(upload.state?.description ?? "")
/// ```
///
/// The model follows the action until the model is released or the broker is closed. For many actions of a
/// queue use one `ActionListModel`. Calls and errors are as there.
@MainActor
@Observable
public final class ActionModel {
    private let list: ActionListModel

    /// Makes a model that follows an action.
    ///
    /// - Parameter clock: The clock of the wait after an error.
    public init(_ broker: any ActionBroker, _ action: ActionID, clock: any BrokerClock = SystemClock()) {
        let list = ActionListModel(broker, .action(action), clock: clock)
        self.list = list
        // An observation does not report actions that ended before it began.
        _ = list.perform { () async throws(SluiceError) in
            let state = try await broker.action(action)
            if case .ended = state.phase { await list.end(state) }
        }
    }

    /// Makes a model that follows the newest action with a tag.
    ///
    /// - Parameter clock: The clock of the wait after an error.
    public init(_ broker: any ActionBroker, tag: String, clock: any BrokerClock = SystemClock()) {
        list = ActionListModel(broker, .tag(tag), clock: clock)
    }

    /// The state; `nil` until it has been read, and if there is no action with the tag.
    public var state: ActionState? { list.states.last ?? list.ended }
    /// The last error, as in `ActionListModel.error`.
    public var error: SluiceError? {
        get { list.error }
        set { list.error = newValue }
    }

    /// Cancels the action: see `Broker.cancel(_:)`.
    @discardableResult
    public func cancel() -> Task<Void, Never> { state.map { list.cancel($0.id) } ?? Task {} }

    /// Lets the action be tried now, as `ActionListModel.retry(_:)`.
    @discardableResult
    public func retry() -> Task<Void, Never> { state.map { list.retry($0.id) } ?? Task {} }

    /// Replaces the payload of the action, as `ActionListModel.edit(_:to:)`.
    @discardableResult
    public func edit(to new: some Action) -> Task<Void, Never> {
        state.map { list.edit($0.id, to: new) } ?? Task {}
    }
}
#endif
