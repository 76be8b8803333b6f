import Foundation
import Sluice
import TestSupport

#if PostgreSQL
import SluicePostgres
#endif

/// One of several processes on a file: it enqueues its share of real conversations, runs queues beside the
/// others, and writes down what it does, for `CrashTests` to check.
///
/// `HistoryWorker PLACE FOLDER CONVERSATIONS COUNT INDEX.LIFE WORKERS SEED END`, where PLACE is a file or the
/// address of a server, COUNT is of the lines
/// that are enqueued, by all of WORKERS, and END the time since the machine's start, in nanoseconds, until
/// which it takes its time. Its history goes to `FOLDER/INDEX.LIFE`. With the index `last` it enqueues
/// nothing, and ends when no queue has work.
@main
struct HistoryWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 9, let count = Int(arguments[4]), let workers = Int(arguments[6]),
            let seed = UInt64(arguments[7]), let end = Int64(arguments[8])
        else { throw HistoryWorkerError.usage }
        let name = arguments[5]
        let history = try History(arguments[2], process: name)
        let index = Int(name.prefix { $0 != "." })
        // Not all of them, as what is observed goes other ways.
        let isObserved = (index ?? 0) % 2 == 0
        let (broker, application) = try await open(arguments[1], index ?? 0)
        try Handlers(broker: broker, history: history, application: application, seed: seed).route()
        let isOnFile = application is FileApplication
        let observation = isOnFile && isObserved ? history.followSuccesses(of: broker) : nil
        let following = isOnFile || !isObserved ? nil : history.followEvents(of: broker)
        defer {
            observation?.cancel()
            following?.cancel()
        }
        let isOver = Occasion()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await broker.run() }
            group.addTask {
                if index == nil { await broker.waitUntilIdle() } else { await isOver.ended() }
                await broker.stop()
            }
            if let index {
                defer { isOver.end() }
                let share = try Share(
                    conversations: arguments[3],
                    count: count,
                    index: index,
                    workers: workers,
                    last: try History.lastEnqueued(in: arguments[2], index: index)
                )
                let enqueuing = Enqueuing(broker: broker, history: history, application: application)
                try await enqueuing.enqueue(share, until: end)
                try await SystemClock.sleep(.nanoseconds(max(end - now(), 0)))
            }
            try await group.waitForAll()
        }
        await broker.close()
    }

    private static func open(
        _ place: String,
        _ index: Int
    ) async throws -> (Broker, any Application) {
        guard place.hasPrefix("postgresql:") else {
            let broker = try await Broker(file: place, options: options)
            return (broker, try FileApplication(place, broker))
        }
        #if PostgreSQL
        var (options, server) = (BrokerOptions.silent, PostgresOptions())
        // Only the server's clock counts.
        options.clock = ShiftedClock(by: .seconds(3_600 * index))
        server.lease = .seconds(3)
        while true {
            do throws(SluiceError) {
                let broker = try await Broker(postgres: place, options: options, server: server)
                return (broker, ServerApplication(place, broker))
            } catch {
                // The server may be down, and about to start again.
                guard [.cannotOpen, .connectionLost].contains(error.code) else { throw error }
            }
            try await SystemClock.sleep(.milliseconds(100))
        }
        #else
        throw HistoryWorkerError.usage
        #endif
    }

    private static var options: BrokerOptions {
        var options = BrokerOptions.silent
        // So few that a kill also meets the order while it is written to the file.
        options.file.writeBehind.newest = 64
        options.file.writeBehind.batch = 16
        // So short that within a minute some are stopped for longer; `Workers.takeover` follows from it.
        options.file.leases.length = .seconds(3)
        options.file.leases.renewal = .seconds(1)
        options.file.leases.watch = .milliseconds(300)
        // Some are stopped while they have the write lock.
        options.file.lockTimeout = .seconds(60)
        if ProcessInfo.processInfo.environment["SLUICE_WAL_UNGUARDED"] != nil {
            options.file.hasResetBug = false
        }
        return options
    }

    /// The time since the machine's start, the same in all processes.
    static func now() -> Int64 {
        var time = timespec()
        #if os(Linux)
        clock_gettime(CLOCK_BOOTTIME, &time)
        #else
        clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

enum HistoryWorkerError: Error {
    case usage, unlucky, changedItsMind
    /// Of a server: nothing was committed, or nobody has said whether it was; and the words of a refusal.
    case disconnected, unknownCommit
    case refused(String)
}
