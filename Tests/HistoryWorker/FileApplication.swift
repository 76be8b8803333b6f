import Dispatch
import Sluice
import SluiceSQLite

/// The application's tables in the engine's file, on a connection of its own.
final class FileApplication: Application {
    private let broker: Broker
    // Used on the queue alone, so that a wait for the write lock holds up no thread of Swift's.
    private nonisolated(unsafe) let connection: Connection
    private let queue = DispatchQueue(label: "history.application")

    init(_ path: String, _ broker: Broker) throws {
        self.broker = broker
        connection = try Connection(path: path, mode: .write)
        connection.setBusyTimeout(.seconds(60))
        try connection.set(Pragma("wal_autocheckpoint", 0))
    }

    func store(_ message: Message, isInVain: Bool) async throws -> ActionID {
        try await write { [broker] connection in
            if let known = try message.storedAction(connection) { return known }
            let action = try message.store(connection, broker)
            if isInVain { throw HistoryWorkerError.changedItsMind }
            return action
        }
    }

    func settle(_ attempt: Attempt, _ effect: Effect, then next: Acknowledgement?) async throws {
        try await write { [broker] connection in
            try attempt.succeed(in: connection.rawHandle)
            try effect.write(connection)
            if let next { try broker.enqueue(next, in: connection.rawHandle) }
        }
    }

    func settling(_ effect: Effect, then next: Acknowledgement?) -> Outcome? {
        .success { transaction in
            try effect.write(Connection(borrowing: transaction.connection))
            if let next { try transaction.enqueue(next) }
        }
    }

    @discardableResult
    private func write<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result { try self.connection.immediate { try body(self.connection) } }
                )
            }
        }
    }
}

extension Effect {
    fileprivate func write(_ connection: Connection) throws {
        try connection.prepare("INSERT INTO effects (line, process, run) VALUES (?1, ?2, ?3)")
            .bind(1, line).bind(2, process).bind(3, run).run()
    }
}

extension Message {
    /// Its action, if its row is there.
    fileprivate func storedAction(_ connection: Connection) throws -> ActionID? {
        try connection.prepare("SELECT action FROM messages WHERE line = ?1").bind(1, line)
            .first { ActionID(rawValue: $0.int64(0)) }
    }

    fileprivate func store(_ connection: Connection, _ broker: Broker) throws -> ActionID {
        let id = try broker.enqueue(self, in: connection.rawHandle).id
        try connection.prepare("INSERT INTO messages (line, action) VALUES (?1, ?2)")
            .bind(1, line).bind(2, id.rawValue).run()
        return id
    }
}
