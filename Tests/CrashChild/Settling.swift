import Foundation
import Sluice
import SluiceSQLite
import Synchronization
import TestSupport

extension CrashChild {
    /// `settle FILE engine|own LAST`: runs all jobs, each of which adds a row to the table `effects`, in the
    /// engine's transaction or in one of the application's.
    ///
    /// The process is killed by its handler of that number, in the midst of whatever others do; 0 is none.
    static func settle(file: String, inOwnTransaction: Bool, last: Int) async throws {
        var options = BrokerOptions.silent
        // So few that a kill also meets the order while it is written to the file.
        options.file.writeBehind.newest = 8
        options.file.writeBehind.batch = 4
        let broker = try await Broker(file: file, options: options)
        let (own, begun) = (try OwnConnection(file), Counter())
        // Of this test's kills none is an action's fault.
        var route = RouteOptions()
        route.crashLimit = .max
        try broker.route("lane/*", Job.self, route) { job, attempt in
            if begun.next() == last { kill(getpid(), SIGKILL) }
            let sql = "INSERT INTO effects (action, lane) VALUES (\(attempt.id), \(job.lane))"
            guard !inOwnTransaction else {
                try own.transaction { connection in
                    try connection.execute(sql)
                    try attempt.succeed(in: connection.rawHandle)
                }
                return .success
            }
            return .success { try Connection(borrowing: $0.connection).execute(sql) }
        }
        try await broker.run {
            await broker.waitUntilIdle()
        }
        await broker.close()
    }
}

/// Counts from 1.
private final class Counter: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// A connection of the application's own.
private final class OwnConnection: Sendable {
    /// Used within the lock alone.
    private nonisolated(unsafe) let connection: Connection
    private let lock = Mutex(())

    init(_ path: String) throws {
        connection = try Connection(path: path, mode: .write)
        connection.setBusyTimeout(.seconds(60))
        try connection.set(Pragma("wal_autocheckpoint", 0))
    }

    func transaction(_ body: (Connection) throws -> Void) throws {
        try lock.withLock { _ in try connection.immediate { try body(connection) } }
    }
}
