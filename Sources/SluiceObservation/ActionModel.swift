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
    private let target: ActionTarget

    /// Makes a model that follows an action.
    ///
    /// - Parameters:
    ///   - broker: The broker, which the model keeps.
    ///   - action: The action.
    ///   - clock: The clock of the wait after an error.
    public init(_ broker: Broker, _ action: ActionID, clock: any BrokerClock = SystemClock()) {
        list = ActionListModel(broker, .action(action), clock: clock)
        target = .action(action)
    }

    /// Makes a model that follows the newest action with a tag.
    ///
    /// - Parameters:
    ///   - broker: The broker, which the model keeps.
    ///   - tag: The tag.
    ///   - clock: The clock of the wait after an error.
    public init(_ broker: Broker, tag: String, clock: any BrokerClock = SystemClock()) {
        list = ActionListModel(broker, .tag(tag), clock: clock)
        target = .newest(tag: tag)
    }

    /// The state; `nil` until it has been read, and if there is no action with the tag.
    public var state: ActionState? { list.states.last ?? list.ended }
    /// Why the action waits, or is not tried again yet, as in `ActionListModel.because(of:)`.
    public var because: [WaitReason] { state.map { list.because(of: $0) } ?? [] }
    /// The last error, as in `ActionListModel.error`.
    public var error: SluiceError? {
        get { list.error }
        set { list.error = newValue }
    }

    /// Cancels the action, as `ActionListModel.cancel(_:)`.
    @discardableResult
    public func cancel() -> Task<Cancellation?, Never> { list.cancel(target) }

    /// Lets the action be tried now, as `ActionListModel.retry(_:)`.
    @discardableResult
    public func retry() -> Task<Bool?, Never> { list.retry(target) }

    /// Replaces the payload of the action, as `ActionListModel.edit(_:to:)`.
    @discardableResult
    public func edit(to new: some Action) -> Task<ActionChange?, Never> { list.edit(target, to: new) }
}
#endif
