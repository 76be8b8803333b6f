internal import ArgumentParser
internal import Foundation
internal import GRDB

/// One workload, once, on a queue written by hand on GRDB; prints what `Peers/` prints for the others.
@main
struct Main: AsyncParsableCommand {
    enum Durability: String, ExpressibleByArgument { case full, `default` }
    enum Step: String, ExpressibleByArgument { case enqueue, drain }

    @Option(help: "A folder for the database; it must be empty.") var folder: String
    @Option(help: "One message a line, JSON.") var payloads: String
    @Option(parsing: .upToNextOption, help: "What is measured.") var phases: [Step]
    @Option(help: "Actions to enqueue, and to drain.") var count: Int
    @Option(help: "Actions that wait before anything is measured.") var backlog = 0
    @Option(help: "Queues that they go into, in turn.") var queues = 1
    @Option(help: "Actions in one transaction.") var batch = 1
    @Option(help: "Tasks that enqueue at the same time.") var callers = 1
    @Option(help: "full: a sync at each commit; default: as a DatabasePool comes.") var durability: Durability
    @Option(help: "Seconds after which a phase stops.") var seconds = 20.0

    func run() async throws {
        let folder = URL(fileURLWithPath: folder)
        let queue = try JobQueue(
            path: folder.appendingPathComponent("grdb.sqlite").path,
            isFull: durability == .full
        )
        let decoder = JSONDecoder()
        let messages = try Data(contentsOf: URL(fileURLWithPath: payloads)).split(
            separator: UInt8(ascii: "\n")
        )
        .map { try decoder.decode(Message.self, from: Data($0)) }
        let run = Run(
            queue: queue,
            messages: messages,
            names: (0..<queues).map { "conversation/\($0)" },
            limit: .seconds(seconds)
        )
        if backlog > 0 { try await run.fill(backlog) }
        var result = Result()
        if phases.contains(.enqueue) {
            result.enqueue = try await run.enqueue(count, batch: batch, callers: callers)
        }
        try await run.check(backlog + (result.enqueue?.done ?? 0))
        if phases.contains(.drain) {
            let waiting = result.enqueue?.done ?? backlog
            result.drain = try await run.drain(min(count, waiting))
            try await run.check(waiting - (result.drain?.done ?? 0))
        }
        try await result.readSettings(queue.database)
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
    }
}

/// What is printed.
private struct Result: Encodable {
    var enqueue: Run.Phase?
    var drain: Run.Phase?
    var synchronous = 0
    var journal = ""
    var sqlite = ""

    /// What is in force, on the connection that writes.
    mutating func readSettings(_ database: DatabasePool) async throws {
        (synchronous, journal, sqlite) = try await database.write { database in
            (
                try Int.fetchOne(database, sql: "PRAGMA synchronous") ?? 0,
                try String.fetchOne(database, sql: "PRAGMA journal_mode") ?? "",
                try String.fetchOne(database, sql: "SELECT sqlite_version()") ?? ""
            )
        }
    }
}
