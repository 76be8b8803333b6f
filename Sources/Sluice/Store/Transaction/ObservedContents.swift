/// The actions that events are about, for observers who ask for them.
struct ObservedContents: Sendable {
    /// The queues whose observers do.
    let queues: Set<QueueName>
    /// By the index of the event; an action that was gone before it could be read has none.
    var actions: [Int: StoredAction] = [:]
}
