internal import Foundation
internal import GRDB

/// What is done to the queue, until it is done or the time is over.
struct Run {
    let queue: JobQueue
    /// Used in turn.
    let messages: [Message]
    let names: [String]
    let limit: Duration

    /// One phase: how long it took, and how many actions it got through.
    struct Phase: Encodable {
        let seconds: Double
        let done: Int
        let stopped: Bool
    }

    /// Enqueues `count` jobs, from several tasks that each wait for their own.
    @concurrent
    func enqueue(_ count: Int, batch: Int, callers: Int) async throws -> Phase {
        let start = ContinuousClock.now
        let share = count / callers
        let done = try await withThrowingTaskGroup(of: Int.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    try await enqueue(caller * share..<(caller + 1) * share, batch: batch, from: start)
                }
            }
            return try await group.reduce(0, +)
        }
        return phase(from: start, done: done, of: share * callers)
    }

    @concurrent
    private func enqueue(
        _ range: Range<Int>,
        batch: Int,
        from start: ContinuousClock.Instant
    ) async throws -> Int {
        for first in stride(from: range.lowerBound, to: range.upperBound, by: batch) {
            if .now - start > limit { return first - range.lowerBound }
            if batch == 1 {
                try await queue.enqueue(messages[first % messages.count], in: names[first % names.count])
            } else {
                try await queue.enqueue((first..<min(first + batch, range.upperBound)).map(job))
            }
        }
        return range.count
    }

    private func job(_ index: Int) -> (queue: String, message: Message) {
        (names[index % names.count], messages[index % messages.count])
    }

    /// Runs `count` jobs, one of each queue in turn.
    @concurrent
    func drain(_ count: Int) async throws -> Phase {
        let start = ContinuousClock.now
        var done = 0
        while done < count, .now - start <= limit {
            let ran = try await queue.runNext(in: names[done % names.count]) { _ in }
            guard ran else { throw WrongResult(description: "nothing was left after \(done) of \(count)") }
            done += 1
        }
        return phase(from: start, done: done, of: count)
    }

    private func phase(from start: ContinuousClock.Instant, done: Int, of count: Int) -> Phase {
        Phase(seconds: (.now - start) / .seconds(1), done: done, stopped: done < count)
    }

    /// Jobs that wait: one for each message through the queue, the others as copies of those by SQL.
    @concurrent
    func fill(_ count: Int) async throws {
        try await queue.enqueue((0..<min(count, messages.count)).map(job))
        try await queue.database.write { database in
            while let filled = try Int.fetchOne(database, sql: "SELECT count(*) FROM job"), filled < count {
                try database.execute(
                    sql:
                        "INSERT INTO job (queue, payload) SELECT queue, payload FROM job ORDER BY id LIMIT ?",
                    arguments: [min(filled, count - filled)]
                )
            }
        }
        try await queue.database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }

    /// Throws unless as many jobs are left as should be.
    @concurrent
    func check(_ expected: Int) async throws {
        let left = try await queue.database.read { try Job.fetchCount($0) }
        guard left == expected else { throw WrongResult(description: "\(left) are left, not \(expected)") }
    }
}

/// The workload did not do what was measured.
struct WrongResult: Error, CustomStringConvertible {
    let description: String
}
