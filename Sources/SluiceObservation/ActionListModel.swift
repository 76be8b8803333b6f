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
/// It does not keep actions that have ended, only how: see ``end(tag:)``.
///
/// Calls are for buttons: they return at once and are performed in their order, each in a task that returns
/// the result. After an error it is `nil`, and ``error`` has the error. Calls with a tag ask the broker, so
/// that they also find an action that was enqueued just before, and is not among ``states`` yet.
@MainActor
@Observable
public final class ActionListModel: OperatingModel {
    /// The actions with a tag: those in the list, and how the one that left it last has ended.
    private struct Tagged {
        var ids: Set<ActionID> = []
        var end = ActionEnd.unknown
    }

    /// The actions that wait, run, or are dead letters, in the order in which they were enqueued.
    public var states: [ActionState] { list.all }
    /// Whether ``states`` has been read: before that, it is empty.
    public var isLoaded: Bool { list.isLoaded }
    /// The last error of a call of this model, or else of reading; set it to `nil` when it has been shown.
    ///
    /// After an error of reading the model reads again, a second later, and then clears that error.
    public var error: SluiceError? {
        get { callError ?? list.error ?? queues.values.lazy.compactMap(\.error).first }
        set {
            (callError, list.error) = (newValue, nil)
            for queue in queues.values { queue.error = nil }
        }
    }
    var callError: SluiceError?
    /// The action that has ended last.
    private(set) var ended: ActionState?
    private let list: FollowedStates<ActionState>
    private let broker: Broker
    private let selection: ActionSelection
    private let clock: any BrokerClock
    /// The queues that say why actions wait, from the first question on.
    @ObservationIgnored private var queues: [QueuePattern: QueueListModel] = [:]
    @ObservationIgnored private var tags: [String: Tagged] = [:]
    @ObservationIgnored var latest: (@Sendable () async -> Void)?

    /// Makes a model that follows the actions of a selection.
    ///
    /// - Parameters:
    ///   - broker: The broker, which the model keeps.
    ///   - selection: Which actions are followed.
    ///   - clock: The clock of the wait after an error.
    public init(
        _ broker: Broker,
        _ selection: ActionSelection,
        clock: any BrokerClock = SystemClock()
    ) {
        self.broker = broker
        self.selection = selection
        self.clock = clock
        list = FollowedStates(clock) {
            broker.observe(actions: selection, after: $0)
        } missed: { (update: ActionUpdate) async throws(SluiceError) -> [ActionState] in
            // One action may have ended before it was read.
            guard let action = selection.action, update.isSnapshot, update.states.isEmpty else { return [] }
            let state = try await broker.action(action)
            if case .ended = state.phase { return [state] }
            return []
        }
        list.willShow = { [weak self] in self?.note($0) }
    }

    /// The state of an action; `nil` if it has ended or is not of the selection.
    public subscript(id: ActionID) -> ActionState? { states[id: id] }

    /// The state of the newest action with a tag; `nil` if there is none, as when all have ended.
    public subscript(tag tag: String) -> ActionState? {
        // First, so that a view of a tag without actions is drawn again too.
        let states = states
        return tags[tag]?.ids.max().flatMap { states[id: $0] }
    }

    /// How the last action with a tag that left the list has ended; `nil` while one is in the list.
    ///
    /// Of several that leave in one update it is the newest. It is of what this model has seen; the
    /// application's data says more. The result is also `nil` if the model has seen no action with the tag:
    /// an action can end before the model has read it. `ActionEnd.unknown` is for an action that was moved
    /// out of the selection or tagged otherwise, for one that another process has ended, and for one that
    /// ended among more changes than an observation keeps.
    public func end(tag: String) -> ActionEnd? {
        _ = states
        guard let tagged = tags[tag], tagged.ids.isEmpty else { return nil }
        return tagged.end
    }

    /// Why an action waits, or is not tried again yet: `QueueStatus.because` of its queue.
    ///
    /// For a waiting action that is mostly what the head of its queue waits for, or that the head runs. The
    /// result is empty for other phases, and until the queue has been read. The first call begins to follow
    /// the statuses of the selection's queues, or for a tag or one action that of its queue. They are read
    /// apart from the states, so for a moment the two can differ.
    public func because(of state: ActionState) -> [WaitReason] {
        switch state.phase {
        case .waiting, .retrying: break
        case .scheduled, .running, .parked, .dead, .ended: return []
        }
        guard let queue = state.details?.queue else { return [] }
        let pattern = selection.pattern ?? QueuePattern(queue.rawValue)
        let model = queues[pattern] ?? QueueListModel(broker, pattern, clock: clock)
        queues[pattern] = model
        return model[queue]?.because ?? []
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

    /// Replaces the payload of an action that does not run: see `Broker.edit(_:to:ifRunning:)`.
    ///
    /// After the result `done`, all later attempts have the new payload. `running` means that an attempt runs
    /// with the old payload, and that nothing has been changed. `missing` means that the action has ended or
    /// is a dead letter. To store an edit for the attempt after a running one, use the broker's call.
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
            return try await broker.edit(id, to: new, ifRunning: .refuse)
        }
    }

    private func note(_ merged: MergedUpdate<ActionState>) {
        let update = merged.update
        if update.isSnapshot { tags = tags.mapValues { $0.ids.isEmpty ? $0 : Tagged() } }
        for state in merged.gone + update.states {
            var end = ActionEnd.unknown
            if case .ended(let known) = state.phase { (ended, end) = (state, known) }
            guard let tag = states[id: state.id]?.details?.tag else { continue }
            tags[tag]?.ids.remove(state.id)
            tags[tag]?.end = end
        }
        for state in update.states {
            if let tag = state.details?.tag { tags[tag, default: Tagged()].ids.insert(state.id) }
        }
        if selection.pattern == nil {
            let left = Set(merged.all.compactMap { $0.details?.queue.rawValue })
            queues = queues.filter { left.contains($0.key.rawValue) }
        }
    }
}
#endif
