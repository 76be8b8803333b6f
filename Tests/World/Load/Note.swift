import Sluice

/// What a queue is in the load; in a failing one a failure makes dead letters of all that wait.
enum Role: String, Codable, CaseIterable, Sendable {
    case fifo, last, wide, passes, sorted, batched, rated, failing

    var options: QueueOptions? {
        switch self {
        case .fifo, .rated, .failing: nil
        case .last: QueueOptions(discipline: .lastInFirstOut)
        case .wide: QueueOptions(discipline: .concurrent(Self.slots))
        case .passes: QueueOptions(discipline: .passOver)
        case .sorted: QueueOptions(sortKey: .integer)
        case .batched: QueueOptions(start: .batch(count: Self.batch, after: Self.batchAge))
        }
    }

    /// How many actions of a wide queue run at a time.
    static let slots = 2
    /// How many of all wide queues a process runs at a time.
    static let permits = 3
    static let batch = 4
    static let batchAge: Duration = .seconds(5)
    /// Of all rated queues in all processes.
    static let rate = RateLimit(2, per: .seconds(1), burst: 1, name: "rated")
    /// The gate of the route to wide queues.
    static let gate: GateName = "wide"
}

/// The action of the load: a line of a queue.
struct Note: Action {
    static let kind = "note"
    var line: Int
    var role: Role
    /// How often it was edited.
    var edition = 0

    /// The number of its queue, and its place there.
    var number: Int { line % 1_000 }
    var place: Int { line / 1_000 }
    var queue: QueueName { Self.queue(number, role) }
    var sortKey: SortKey { role == .sorted ? .integer(sortNumber) : .arrival }
    var sortNumber: Int64 { Int64(place * 7 % 4) }

    /// The line of a place in a queue.
    init(_ place: Int, inQueue number: Int, _ role: Role) {
        (line, self.role) = (place * 1_000 + number, role)
    }

    static func queue(_ number: Int, _ role: Role) -> QueueName { "\(role.rawValue)/\(number)" }

    /// By whose transaction its success is settled.
    enum Form { case engine, application, none }
    var form: Form {
        if isPing { return .none }
        return switch place / 3 % 4 {
        case 0, 1: .engine
        case 2: .application
        default: .none
        }
    }

    /// Whether it may get a time, a gate or an end, be edited, moved and cancelled; others have their place
    /// in the order for good.
    var isSpecial: Bool { role != .passes && place % 5 == 3 && !isPing }

    /// Whether it ends its process, unless nobody is to be disturbed any more.
    var kills: Bool { isSpecial && number == 0 && (place == 13 || place == 48) }

    /// Whether SQL of the application enqueues it, past the library.
    var isBySQL: Bool { role != .passes && place % 7 == 5 && !isSpecial && !isPing }

    /// Whether it is enqueued to quiet processes, and ends at once.
    var isPing: Bool { place >= Self.firstPing }
    static let firstPing = 10_000

    /// The first of four is the start of a group, whose members the next ones are.
    var group: GroupName { GroupName("group \(place / 4)") }
    var startsGroup: Bool { role == .passes && place % 4 == 0 && !isPing }
    var isMember: Bool { role == .passes && place % 4 != 0 && !isPing }
    /// The line that starts its group.
    var leader: Int { place / 4 * 4 * 1_000 + number }
}
