#if canImport(Observation)
public import Observation
public import Sluice

/// The states of several actions for a view, such as those of a conversation.
///
/// ```swift
/// let outbox = ActionListModel(broker, .queue("conversation/42"))
/// let state = outbox[tag: "message-7"]        // in a view; nil: nothing is left to do for it
/// Button("Try again") { outbox.retry(tag: "message-7") }
/// ```
///
/// The model reads the states once and then their changes, until it is released or the broker is closed.
/// It does not keep actions that have ended: the application's own data says that a message is sent.
///
/// Calls are for buttons: they return at once and are performed in their order, each in a task that returns
/// the result. After an error it is `nil`, and ``error`` has the error. Calls with a tag ask the broker, so
/// that they also find an action that was enqueued just before, and is not among ``states`` yet.
@MainActor
@Observable
public final class ActionListModel: OperatingModel {
    private typealias Merged = MergedUpdate<ActionState>

    /// The actions that wait, run, or are dead letters, in the order in which they were enqueued.
    public private(set) var states: [ActionState] = []
    /// Whether ``states`` has been read: before that, it is empty.
    public private(set) var isLoaded = false
    /// The last error of a call of this model, or else of reading; set it to `nil` when it has been shown.
    ///
    /// After an error of reading the model reads again, a second later, and then clears that error.
    public var error: SluiceError? {
        get { callError ?? readError }
        set { (callError, readError) = (newValue, nil) }
    }
    var callError: SluiceError?
    private var readError: SluiceError?
    /// The action that has ended last.
    private(set) var ended: ActionState?
    private let broker: any ActionBroker
    /// The actions by tag; empty for a tag whose actions have all left the list.
    @ObservationIgnored private var ids: [String: Set<ActionID>] = [:]
    @ObservationIgnored var latest: (@Sendable () async -> Void)?
    @ObservationIgnored private var following: Following?

    /// Makes a model that follows the actions of a selection.
    ///
    /// - Parameter clock: The clock of the wait after an error.
    public convenience init(
        _ broker: any ActionBroker,
        _ selection: ActionSelection,
        clock: any BrokerClock = SystemClock()
    ) {
        self.init(broker, selection, endOf: nil, clock)
    }

    /// - Parameter action: An action of which the end is shown even if it came before the first read.
    init(
        _ broker: any ActionBroker,
        _ selection: ActionSelection,
        endOf action: ActionID?,
        _ clock: any BrokerClock
    ) {
        self.broker = broker
        following = Following(
            clock,
            { (last: Merged?) -> ActionUpdates in
                broker.observe(actions: selection, after: last?.update.position)
            },
            merge: { [weak self] (update: ActionUpdate, last: Merged?) async throws(SluiceError) -> Merged in
                if let action, last == nil, update.states.isEmpty {
                    let state = try await broker.action(action)
                    if case .ended = state.phase { await self?.end(state) }
                }
                return Merged(update, after: last)
            },
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

    /// Whether actions with a tag were in the list and all have left it, whoever ended, moved or tagged them.
    public func hasLeft(tag: String) -> Bool {
        _ = states
        return ids[tag]?.isEmpty == true
    }

    /// Cancels an action, whatever it does: see `Broker.cancel(_:)`.
    @discardableResult
    public func cancel(_ action: ActionID) -> Task<Cancellation?, Never> { cancel(.action(action)) }

    /// Cancels all actions with a tag, whatever they do: see `Broker.cancel(tag:)`.
    @discardableResult
    public func cancel(tag: String) -> Task<CancellationCounts?, Never> {
        perform { [broker] () async throws(SluiceError) -> CancellationCounts in
            try await broker.cancel(tag: tag)
        }
    }

    /// Lets an action be tried now.
    ///
    /// A dead letter is put back, a scheduled action is due, and otherwise the waits of its queue for retries
    /// and a failed action end (`Broker.retryNow(_:)`). The result is `false` if there was nothing to change:
    /// it runs, has ended, or waits for something else.
    @discardableResult
    public func retry(_ action: ActionID) -> Task<Bool?, Never> { retry(.action(action)) }

    /// Lets the newest action with a tag be tried now, as ``retry(_:)``.
    @discardableResult
    public func retry(tag: String) -> Task<Bool?, Never> { retry(.newest(tag: tag)) }

    /// Replaces the payload of an action that waits or has parked its queue: see `Broker.edit(_:to:)`.
    ///
    /// The result `deferred` means that an attempt runs with the old payload: if it succeeds, the edit is
    /// lost. `missing` means that the action has ended or is a dead letter.
    @discardableResult
    public func edit(_ action: ActionID, to new: some Action) -> Task<ActionChange?, Never> {
        edit(.action(action), to: new)
    }

    /// Replaces the payload of the newest action with a tag, as ``edit(_:to:)``.
    @discardableResult
    public func edit(tag: String, to new: some Action) -> Task<ActionChange?, Never> {
        edit(.newest(tag: tag), to: new)
    }

    func cancel(_ target: ActionTarget) -> Task<Cancellation?, Never> {
        perform { [broker] () async throws(SluiceError) -> Cancellation in
            guard let id = try await target.id(in: broker) else { return .tooLate }
            return try await broker.cancel(id)
        }
    }

    func retry(_ target: ActionTarget) -> Task<Bool?, Never> {
        perform { [broker] () async throws(SluiceError) -> Bool in
            guard let id = try await target.id(in: broker) else { return false }
            return try await broker.tryAgain(id)
        }
    }

    func edit(_ target: ActionTarget, to new: some Action) -> Task<ActionChange?, Never> {
        perform { [broker] () async throws(SluiceError) -> ActionChange in
            guard let id = try await target.id(in: broker) else { return .missing }
            return try await broker.edit(id, to: new, ifRunning: .next)
        }
    }

    private func end(_ state: ActionState) { ended = state }

    private func show(_ result: Result<Merged, SluiceError>) {
        switch result {
        case .failure(let error): readError = error
        case .success(let merged):
            let update = merged.update
            if update.isSnapshot { ids = ids.mapValues { _ in [] } }
            for state in update.gone { if case .ended = state.phase { end(state) } }
            for state in update.gone + update.states {
                if let tag = states[id: state.id]?.details?.tag { ids[tag]?.remove(state.id) }
            }
            for state in update.states {
                if let tag = state.details?.tag { ids[tag, default: []].insert(state.id) }
            }
            (states, isLoaded, readError) = (merged.all, true, nil)
        }
    }
}
#endif
