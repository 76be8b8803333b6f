#if canImport(Observation)
public import Observation
public import Sluice

/// The states of several actions for a view, such as those of a conversation.
///
/// ```swift
/// let outbox = ActionListModel(broker, .queue("conversation/42"))
/// let state = outbox[tag: "message-7"]        // in a view; nil: nothing is left to do for it
/// Button("Try again") { outbox.retry(state.id) }
/// ```
///
/// The model reads the states once and then their changes, until it is released or the broker is closed.
/// It does not keep actions that have ended: the application's own data says that a message is sent.
///
/// Calls are for buttons: they return at once and are performed in their order, each in a task that can be
/// awaited. ``error`` has the error of one that fails.
@MainActor
@Observable
public final class ActionListModel: OperatingModel {
    /// The actions that wait, run, or are dead letters, in the order in which they were enqueued.
    public private(set) var states: [ActionState] = []
    /// Whether ``states`` has been read: before that, it is empty.
    public private(set) var isLoaded = false
    /// The last error of reading or of a call of this model; set it to `nil` when it has been shown.
    ///
    /// After an error of reading the model reads again, a second later, and clears the error.
    public var error: SluiceError?
    /// The action that has ended last.
    private(set) var ended: ActionState?
    private let broker: any ActionBroker
    @ObservationIgnored private var ids: [String: Set<ActionID>] = [:]
    @ObservationIgnored var latest: Task<Void, Never>?
    @ObservationIgnored private var following: Following?

    /// Makes a model that follows the actions of a selection.
    ///
    /// - Parameter clock: The clock of the wait after an error.
    public init(
        _ broker: any ActionBroker,
        _ selection: ActionSelection,
        clock: any BrokerClock = SystemClock()
    ) {
        self.broker = broker
        following = Following(
            clock,
            { broker.observe(actions: selection, after: nil) },
            show: { [weak self] in self?.show($0) != nil }
        )
    }

    /// The state of an action; `nil` if it has ended or is not of the selection.
    public subscript(id: ActionID) -> ActionState? { states[id: id] }

    /// The state of the newest action with a tag; `nil` if there is none, as when all have ended.
    public subscript(tag tag: String) -> ActionState? {
        // First, so that a view of a tag without actions is drawn again too.
        let states = states
        return ids[tag]?.max().flatMap { states[id: $0] }
    }

    /// Cancels an action, whatever it does: see `Broker.cancel(_:)`.
    @discardableResult
    public func cancel(_ action: ActionID) -> Task<Void, Never> {
        perform { [broker] () async throws(SluiceError) in _ = try await broker.cancel(action) }
    }

    /// Lets an action be tried now.
    ///
    /// A dead letter is put back, a scheduled action is due, and otherwise the waits of its queue for retries
    /// and a failed action end (`Broker.retryNow(_:)`).
    @discardableResult
    public func retry(_ action: ActionID) -> Task<Void, Never> {
        perform { [broker] () async throws(SluiceError) in try await broker.tryAgain(action) }
    }

    /// Replaces the payload of an action that waits or has parked its queue: see `Broker.edit(_:to:)`.
    @discardableResult
    public func edit(_ action: ActionID, to new: some Action) -> Task<Void, Never> {
        perform { [broker] () async throws(SluiceError) in
            _ = try await broker.edit(action, to: new, ifRunning: .next)
        }
    }

    func end(_ state: ActionState) { ended = state }

    private func show(_ result: Result<ActionUpdate, SluiceError>) {
        switch result {
        case .failure(let error): self.error = error
        case .success(let update):
            if update.isSnapshot { (error, isLoaded, ids) = (nil, true, [:]) }
            for state in update.gone { if case .ended = state.phase { end(state) } }
            for state in update.gone + update.states {
                guard let tag = states[id: state.id]?.details?.tag else { continue }
                ids[tag]?.remove(state.id)
                if ids[tag]?.isEmpty == true { ids[tag] = nil }
            }
            states.apply(update)
            for state in update.states {
                if let tag = state.details?.tag { ids[tag, default: []].insert(state.id) }
            }
        }
    }
}
#endif
