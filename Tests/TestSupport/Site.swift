package import Sluice
internal import SluiceSQLite
package import SluiceTestKit

/// Where the queues of a test are kept.
package typealias QueueStorage = TestBroker.Storage

/// A place for brokers, one after the other, on one clock.
///
/// The engine looks for foreign changes once a year of the manual clock, so that its sleepers are those that
/// a test thinks of. With a file it also sleeps for a sync, up to a second, unless the durability is
/// `everything`, and for the renewal of its lease, ten seconds.
package struct Site: Sendable {
    package let clock: ManualClock
    package let file: TemporaryFile?

    package init(_ place: QueueStorage = .file, clock: ManualClock = ManualClock()) throws {
        self.clock = clock
        file = place == .file ? try TemporaryFile() : nil
    }

    /// Opens a broker; in memory, an empty one.
    package func broker(_ change: (inout BrokerOptions) -> Void = { _ in }) async throws -> Broker {
        var options = BrokerOptions.on(clock)
        options.file.foreignChangeInterval = .seconds(365 * 86_400)
        change(&options)
        guard let file else { return try await Broker.inMemory(options) }
        return try await Broker(file: file.path, options: options)
    }

    /// Does what a person with a shell does to the file.
    package func shell(_ sql: String) throws {
        guard let file else { throw TestError("queues in memory have no file") }
        let connection = try Connection(path: file.path, mode: .write)
        connection.setBusyTimeout(patience)
        try connection.execute(sql)
    }

    /// Does what the engine of another process does when it cancels an action that runs here.
    package func cancelElsewhere(_ action: ActionID) throws {
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
    package static func farAhead() -> ManualClock { ManualClock(wallMicroseconds: 4_102_444_800_000_000) }
}

extension Broker {
    /// Routes the notes of a pattern to a log of their texts; each succeeds.
    package func routeNotes(_ pattern: QueuePattern = "*", to log: EventLog<String>) throws {
        try route(pattern, Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
    }
}

/// Another action than ``Note``, with a payload that a note does not have.
package struct Photo: Action {
    package static let kind = "photo"
    package var album: String
    package var width: Int
    package var queue: QueueName { QueueName(album) }

    package init(album: String, width: Int) { (self.album, self.width) = (album, width) }
}

/// A route's options with one retry policy.
package func retrying(_ policy: RetryPolicy) -> RouteOptions { RouteOptions(retry: policy) }
