#if CommandLineTool
internal import Sluice

/// Something in a folder in which another library keeps its queue.
enum FolderItem {
    case entry(FolderEntry)
    /// An entry of the queue that cannot be enqueued.
    case unreadable(name: String, reason: String)
    /// Nothing that the other library would run.
    case ignored(name: String, reason: String)
}

/// An entry of another library's queue.
struct FolderEntry: Sendable {
    /// Its file, as remarks name it.
    let name: String
    /// What tells it from all other entries that the folder has, ever had or will have.
    let identity: String
    let kind: String
    /// One JSON value.
    let payload: String
    let createdAt: Timestamp
    /// How often the other library has tried it.
    var attempts: Int64 = 0
    /// Those that it starts and belongs to.
    var groups = ActionGroups()
}

extension FolderEntry {
    /// How long an entry is known when its action has gone: imports that are run again are so within days.
    static let memory: Duration = .seconds(90 * 86_400)

    /// The action that it becomes.
    ///
    /// - Parameter kind: The kind of all entries; `nil`: each has its own.
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

/// Seconds since a day, as other libraries write down times.
enum FolderTime {
    /// 1970-01-01.
    static let unixEpoch = 0.0
    /// 2001-01-01, from which Foundation counts.
    static let referenceDate = 978_307_200.0

    /// A time of the years 1970 to 9999; `nil` where a field holds none.
    static func time(_ seconds: Double, since epoch: Double) -> Timestamp? {
        let microseconds = ((seconds + epoch) * 1_000_000).rounded()
        guard (0..<253_402_300_800_000_000).contains(microseconds) else { return nil }
        return Timestamp(microseconds: Int64(microseconds))
    }

    /// A number of seconds that a field holds.
    static func seconds(_ field: String, of members: JSONMembers) throws(Refusal) -> Double {
        guard let raw = members.raw(field) else { throw Refusal("the field '\(field)' is missing") }
        guard let seconds = Double(raw) else { throw Refusal("the field '\(field)' is no number") }
        return seconds
    }

    /// The time that a field holds.
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
