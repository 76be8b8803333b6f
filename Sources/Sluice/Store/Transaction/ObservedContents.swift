/// The actions that events are about, for observers who ask for them.
struct ObservedContents: Sendable {
    let queues: Set<QueueName>
    /// The actions by index of their event; an action deleted before it could be read is missing.
    var actions: [Int: StoredAction] = [:]
}
