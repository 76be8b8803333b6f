internal import HashTreeCollections

/// An element of an observation: a snapshot of all states, or the differences from the last element.
///
/// ```swift
/// for try await update in broker.observe(actions: .queue("conversation/42")) {
///     if update.isSnapshot { shown = [:] }
///     for state in update.states { shown[state.id] = state }
///     for state in update.gone { shown[state.id] = nil }
/// }
/// ```
public struct StateUpdate<State: Sendable & Hashable & Identifiable>: Sendable where State.ID: Sendable {
    /// The states that a consumer knows, to continue from in another observation.
    ///
    /// It is kept in memory only, and shares it with the observation.
    public struct Position: Sendable {
        let known: TreeDictionary<State.ID, State>
    }

    /// Whether ``states`` are all that match, so that the consumer forgets all others.
    public let isSnapshot: Bool
    /// The states that match, in a fixed order: all in a snapshot, else only new and changed ones.
    public let states: [State]
    /// The present or last states of known ones that match no more; none in a snapshot.
    public let gone: [State]
    /// What the consumer knows after this update.
    public let position: Position
}

/// The actions that have changed: see ``Broker/observe(actions:after:)``.
///
/// ``StateUpdate/gone`` has actions that have ended, with the phase ``ActionState/Phase/ended(_:)``, and
/// those that were moved or tagged otherwise, as they are now.
public typealias ActionUpdate = StateUpdate<ActionState>

/// The actions that a consumer knows, to continue an observation from.
public typealias ActionPosition = ActionUpdate.Position

/// The queues that have changed: see ``Broker/observe(statuses:after:)``.
///
/// ``StateUpdate/gone`` has the queues that have become empty.
public typealias QueueStatusListUpdate = StateUpdate<QueueStatus>

/// The statuses that a consumer knows, to continue an observation from.
public typealias StatusPosition = QueueStatusListUpdate.Position
