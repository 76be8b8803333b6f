/// Caches the ids of recently used queues by name.
struct QueueDirectory {
    struct Entry {
        let id: QueueID
        let sortKind: SortKey.Kind
    }

    /// The most names that are kept, about 10 MB; at the limit all are forgotten, and read again when used.
    private static let limit = 65_536
    private var entries: [QueueName: Entry] = [:]

    subscript(name: QueueName) -> Entry? {
        get { entries[name] }
        set {
            if entries.count >= Self.limit { entries.removeAll(keepingCapacity: true) }
            entries[name] = newValue
        }
    }

    mutating func removeAll() { if !entries.isEmpty { entries.removeAll(keepingCapacity: true) } }
}
