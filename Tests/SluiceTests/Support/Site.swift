import Sluice
import SluiceSQLite
import SluiceTestKit
import Testing

/// Where the queues of a test are kept.
typealias Place = TestBroker.Storage

/// A place for brokers, one after the other, on one clock.
///
/// The engine looks for foreign changes once a year of the manual clock, so that its sleepers are those that
/// a test thinks of. With a file it also sleeps for a sync, up to a second, unless the durability is
/// `everything`, and for the renewal of its lease, ten seconds.
struct Site: Sendable {
    let clock: ManualClock
    let file: TemporaryFile?

    init(_ place: Place = .file, clock: ManualClock = ManualClock()) throws {
        self.clock = clock
        file = place == .file ? try TemporaryFile() : nil
    }

    /// Opens a broker; in memory, an empty one.
    func broker(_ change: (inout BrokerOptions) -> Void = { _ in }) async throws -> Broker {
        var options = BrokerOptions.on(clock)
        options.file.foreignChangeInterval = .seconds(365 * 86_400)
        change(&options)
        guard let file else { return try await Broker(inMemory: options) }
        return try await Broker(file: file.path, options: options)
    }

    /// Does what a person with a shell does to the file.
    func shell(_ sql: String) throws {
        let connection = try Connection(path: #require(file).path, mode: .write)
        connection.setBusyTimeout(patience)
        try connection.execute(sql)
    }

    /// Does what the engine of another process does when it cancels an action that runs here.
    func cancelElsewhere(_ action: ActionID) throws {
        try shell(
            """
            BEGIN IMMEDIATE;
            INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (\(action), 1);
            INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
            SELECT r.epoch, a.queue_id, a.id, 'cancel'
            FROM sluice_runner_rows AS r JOIN sluice_action_rows AS a WHERE a.id = \(action);
            COMMIT;
            """
        )
    }
}

extension ManualClock {
    /// A clock whose times lie ahead of the machine's, so that the views, which ask the machine, agree.
    static func farAhead() -> ManualClock { ManualClock(wallMicroseconds: 4_102_444_800_000_000) }
}

extension Broker {
    /// Routes the notes of a pattern to a log of their texts; each succeeds.
    func routeNotes(_ pattern: QueuePattern = "*", to log: EventLog<String>) throws {
        try route(pattern, Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
    }
}

/// Another action than ``Note``, with a payload that a note does not have.
struct Photo: Action {
    static let kind = "photo"
    var album: String
    var width: Int
    var queue: QueueName { QueueName(album) }
}

/// A route's options with one retry policy.
func retrying(_ policy: any RetryPolicy) -> RouteOptions { RouteOptions(retry: policy) }
