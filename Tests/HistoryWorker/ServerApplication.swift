#if PostgreSQL
import CSluicePostgres
import Dispatch
import Foundation
import Sluice
import SluicePostgres

/// The application's tables in the database of the queues, on a connection of its own.
///
/// The connection is cut and the server killed meanwhile: what nobody has said is asked for.
final class ServerApplication: Application {
    private let url: String
    private let broker: Broker
    // Used on the queue alone, so that a wait for the server holds up no thread of Swift's.
    private nonisolated(unsafe) var connection: OpaquePointer?
    private let queue = DispatchQueue(label: "history.application")

    init(_ url: String, _ broker: Broker) { (self.url, self.broker) = (url, broker) }

    func store(_ message: Message, isInVain: Bool) async throws -> ActionID {
        while true {
            do {
                return try await write { [broker] connection in
                    // Its row shows after a lost commit whether it was one.
                    if let known = try message.storedAction(connection) { return known }
                    let action = try message.store(connection, broker)
                    if isInVain { throw HistoryWorkerError.changedItsMind }
                    return action
                }
            } catch let error where Self.mayPass(error) {
                try await SystemClock.sleep(.milliseconds(50))
            }
        }
    }

    func settle(_ attempt: Attempt, _ effect: Effect, then next: Acknowledgement?) async throws {
        try await write { [broker] connection in
            try attempt.succeed(in: connection)
            try connection.execute(
                "INSERT INTO effects (line, process, run) VALUES ($1, $2, $3)",
                ["\(effect.line)", effect.process, "\(effect.run)"]
            )
            if let next { try broker.enqueue(next, in: connection) }
        }
    }

    func settling(_ effect: Effect, then next: Acknowledgement?) -> Outcome? { nil }

    private static func mayPass(_ error: any Error) -> Bool {
        switch error {
        case HistoryWorkerError.disconnected, HistoryWorkerError.unknownCommit: true
        case HistoryWorkerError.refused(let message): message.contains("No space left on device")
        case let error as SluiceError: [.connectionLost, .databaseLocked, .diskFull].contains(error.code)
        default: false
        }
    }

    @discardableResult
    private func write<Output: Sendable>(
        _ body: @escaping @Sendable (OpaquePointer) throws -> Output
    ) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.transaction(body) }) }
        }
    }

    private func transaction<Output>(_ body: (OpaquePointer) throws -> Output) throws -> Output {
        let connection = try connected()
        do {
            try connection.execute("BEGIN")
            let output = try body(connection)
            do { try connection.execute("COMMIT") } catch HistoryWorkerError.disconnected {
                throw HistoryWorkerError.unknownCommit
            }
            return output
        } catch {
            PQfinish(connection)
            self.connection = nil
            throw error
        }
    }

    private func connected() throws -> OpaquePointer {
        if let connection { return connection }
        // The receiver comes first: libpq writes what the server says before to the standard error.
        guard let new = PQconnectStart(url) else { throw HistoryWorkerError.disconnected }
        PQsetNoticeReceiver(new, { _, _ in }, nil)
        PQreset(new)
        guard PQstatus(new) == CONNECTION_OK else {
            PQfinish(new)
            throw HistoryWorkerError.disconnected
        }
        connection = new
        return new
    }
}

extension OpaquePointer {
    /// Executes a statement on this connection of libpq, and returns the first column.
    @discardableResult
    fileprivate func execute(_ sql: String, _ parameters: [String] = []) throws -> [String] {
        let texts = parameters.map { strdup($0) }
        defer { for text in texts { free(text) } }
        let values = texts.map { $0.map { UnsafePointer($0) } }
        let result = PQexecParams(self, sql, Int32(values.count), nil, values, nil, nil, 0)
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: break
        default:
            if PQstatus(self) != CONNECTION_OK { throw HistoryWorkerError.disconnected }
            throw HistoryWorkerError.refused(String(cString: PQresultErrorMessage(result)))
        }
        return (0..<PQntuples(result)).map { String(cString: PQgetvalue(result, $0, 0)) }
    }
}

extension Message {
    fileprivate func storedAction(_ connection: OpaquePointer) throws -> ActionID? {
        try connection.execute("SELECT action FROM messages WHERE line = $1", ["\(line)"]).first
            .flatMap { Int64($0) }.map { ActionID(rawValue: $0) }
    }

    fileprivate func store(_ connection: OpaquePointer, _ broker: Broker) throws -> ActionID {
        let id = try broker.enqueue(self, in: connection).id
        try connection.execute("INSERT INTO messages (line, action) VALUES ($1, $2)", ["\(line)", "\(id)"])
        return id
    }
}

/// A clock whose time of day is wrong.
struct ShiftedClock: BrokerClock {
    let shift: Duration
    private let clock = SystemClock()

    init(by shift: Duration) { self.shift = shift }

    var wallMicroseconds: Int64 { clock.wallMicroseconds + Int64(shift / .microseconds(1)) }
    var uptime: Duration { clock.uptime }
    func sleep(untilUptime deadline: Duration) async throws { try await clock.sleep(untilUptime: deadline) }
}
#endif
