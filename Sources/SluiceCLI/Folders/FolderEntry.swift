#if CommandLineTool
internal import Sluice

/// An item of a folder in which another library keeps its queue.
enum FolderItem {
    case entry(FolderEntry)
    /// An entry of the queue that cannot be enqueued.
    case unreadable(name: String, reason: String)
    /// A file that the other library would not run.
    case ignored(name: String, reason: String)
}

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

/// Times as seconds since a date, as other libraries store them.
enum FolderTime {
    /// 1970-01-01.
    static let unixEpoch = 0.0
    /// 2001-01-01, from which Foundation counts.
    static let referenceDate = 978_307_200.0

    /// Returns a time in the years 1970 to 9999; `nil` for other numbers.
    static func time(_ seconds: Double, since epoch: Double) -> Timestamp? {
        let microseconds = ((seconds + epoch) * 1_000_000).rounded()
        guard (0..<253_402_300_800_000_000).contains(microseconds) else { return nil }
        return Timestamp(microseconds: Int64(microseconds))
    }

    /// Returns a field's number of seconds.
    static func seconds(_ field: String, of members: JSONMembers) throws(Refusal) -> Double {
        guard let raw = members.raw(field) else { throw Refusal("the field '\(field)' is missing") }
        guard let seconds = Double(raw) else { throw Refusal("the field '\(field)' is no number") }
        return seconds
    }

    /// Returns a field's time.
    static func time(
        _ field: String,
        of members: JSONMembers,
        since epoch: Double
    ) throws(Refusal) -> Timestamp {
        guard let time = time(try seconds(field, of: members), since: epoch) else {
            throw Refusal("the field '\(field)' is no time between 1970 and 9999")
        }
        return time
    }
}
#endif
