#if CommandLineTool
internal import Sluice

/// An entry of another library's queue.
struct FolderEntry: Sendable {
    /// The file's name, for remarks.
    let name: String
    /// A text that is unique among all entries that the folder has, had or will have.
    let identity: String
    let kind: String
    /// One JSON value.
    let payload: String
    let createdAt: Timestamp
    /// How often the other library has tried it.
    var attempts: Int64 = 0
    /// The groups that it starts and belongs to.
    var groups = ActionGroups()
}

extension FolderEntry {
    /// How long an entry's key is kept after its action: repeated imports follow within days.
    static let memory: Duration = .seconds(90 * 86_400)

    /// Returns the action for the entry.
    ///
    /// - Parameter kind: The kind of all entries; `nil` means that each has its own.
    func action(in queue: QueueName, kind: String?) -> TransferredAction {
        var action = TransferredAction(
            queue: queue,
            kind: kind ?? self.kind,
            sortKey: .arrival,
            payload: payload
        )
        action.key = DeduplicationKey(identity, retention: Self.memory)
        action.attempts = attempts
        action.enqueuedAt = createdAt
        action.groups = groups
        return action
    }
}
#endif
