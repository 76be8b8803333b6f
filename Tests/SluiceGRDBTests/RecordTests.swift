#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

@Suite("Records of the queues' views", .watched)
struct RecordTests {
    @Test("An action's record has what the view has, to the microsecond")
    func action() async throws {
        // 2027-01-15T08:00:00.123457Z
        let application = try Application(.pool, clock: ManualClock(wallMicroseconds: 1_800_000_000_123_457))
        let broker = try await application.broker()
        let later = Date(timeIntervalSince1970: 1_900_000_000.25)
        try await application.database.write { db in
            try broker.enqueue(Note("a"), EnqueueOptions(notBefore: later, tag: "t", gate: "g"), in: db)
            try broker.enqueue([Note("b"), Note("c", in: "other")], in: db)
        }
        let (first, rest) = try await application.database.read { db in
            let first = try ActionRecord.filter { $0.tag == "t" }.fetchOne(db)
            let rest = ActionRecord.filter { $0.queue == QueueName("notes") && $0.id > 1 }.order { $0.id }
            return (first, try rest.fetchAll(db))
        }
        let record = try #require(first)
        #expect(record.id == ActionID(rawValue: 1) && record.queue == "notes" && record.kind == "note")
        #expect(record.payload == #"{"text":"a","lane":"notes"}"# && record.version == 1)
        #expect(record.attempts == 0 && record.runningSince == nil && record.nextAttemptAt == nil)
        #expect(record.notBefore == later && record.expiresAt == nil)
        #expect(record.tag == "t" && record.gate == "g" && record.lastError == nil)
        #expect(record.enqueuedAt == Date(timeIntervalSince1970: 1_800_000_000.123457))
        #expect(record.sortKey.isNull)
        #expect(rest.map(\.id) == [ActionID(rawValue: 2)])
        await broker.close()
    }

    @Test("Queues, dead letters and failed attempts have records too")
    func others() async throws {
        let application = try Application(.queue, clock: ManualClock(wallMicroseconds: 1_800_000_000_123_457))
        let broker = try await application.broker()
        let policies = RouteOptions(failure: FailurePolicies(failed: .skip))
        try broker.route("failing", Note.self, policies) { _, _ in .fail("no such room") }
        try broker.route("parked", Note.self) { _, _ in .fail("no") }
        try await broker.enqueue([Note("a", in: "failing"), Note("b", in: "parked"), Note("c", in: "parked")])
        try await running(broker) { await broker.waitUntilIdle() }

        let (dead, queues, attempts) = try await application.database.read { db in
            (
                try DeadLetterRecord.filter { $0.cause == "failed" }.fetchAll(db),
                try QueueRecord.order { $0.queue }.fetchAll(db),
                try AttemptRecord.order { $0.action }.fetchAll(db)
            )
        }
        let now = Date(timeIntervalSince1970: 1_800_000_000.123457)
        let letter = try #require(dead.first)
        #expect(dead.count == 1 && letter.id == ActionID(rawValue: 1) && letter.cause == .failed)
        #expect(letter.error == "no such room" && letter.attempts == 1 && letter.diedAt == now)
        #expect(letter.queue == "failing" && letter.enqueuedAt == now && letter.sortKey.isNull)
        #expect(letter.version == 1 && letter.tag == nil && letter.gate == nil)
        let queue = try #require(queues.first)
        #expect(queue.process == nil)
        #expect(queues.count == 1 && queue.id == "parked" && queue.depth == 2 && queue.state == .parked)
        #expect(queue.because == "parked by action 2 after failure (failed): no" && queue.lastError == "no")
        #expect(queue.head == ActionID(rawValue: 2) && queue.headKind == "note" && queue.blockedUntil == nil)
        #expect(attempts.map(\.action) == [1, 2].map { ActionID(rawValue: $0) })
        let attempt = try #require(attempts.first)
        #expect(attempt.number == 1 && attempt.outcome == "failed" && attempt.error == "no such room")
        #expect(attempt.startedAt == now && attempt.endedAt == now)
        await broker.close()
    }

    @Test("A queue whose attempt has been settled while its handler still runs has a record without a head")
    func settledWhileRunning() async throws {
        // Ahead of the machine's time, by which the view tells whether a lease is over.
        let clock = ManualClock(wallMicroseconds: 4_102_444_800_000_000)
        let application = try Application(.pool, clock: clock)
        let broker = try await application.broker()
        let records = EventLog<QueueRecord?>()
        try broker.route("notes", Note.self) { _, attempt in
            let record = try await application.database.write { db in
                try attempt.succeed(in: db)
                return try QueueRecord.fetchOne(db)
            }
            records.append(record)
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) { await broker.waitUntilIdle() }
        let first = try #require(records.elements.first)
        let record = try #require(first)
        #expect(record.state == .running && record.depth == 1)
        #expect(record.head == nil && record.headKind == nil && record.attempt == 0)
        #expect(record.because.hasPrefix("running since") && !record.because.contains("attempt"))
        await broker.close()
    }

    @Test("Each record names all columns of its view, and no other")
    func columns() async throws {
        let application = try Application(.queue)
        let broker = try await application.broker()
        let action = ActionRecord.Columns.self
        let queue = QueueRecord.Columns.self
        let letter = DeadLetterRecord.Columns.self
        let attempt = AttemptRecord.Columns.self
        let runner = RunnerRecord.Columns.self
        let named: [String: [Column]] = [
            ActionRecord.databaseTableName: [
                action.id, action.queue, action.sortKey, action.kind, action.payload, action.attempts,
                action.nextAttemptAt, action.notBefore, action.runningSince, action.enqueuedAt,
                action.lastError, action.version, action.tag, action.gate, action.expiresAt,
            ],
            QueueRecord.databaseTableName: [
                queue.queue, queue.depth, queue.state, queue.because, queue.head, queue.headKind,
                queue.attempt, queue.blockedUntil, queue.oldestAge, queue.lastError, queue.process,
            ],
            DeadLetterRecord.databaseTableName: [
                letter.id, letter.queue, letter.sortKey, letter.kind, letter.payload, letter.cause,
                letter.error, letter.attempts, letter.enqueuedAt, letter.diedAt, letter.version,
                letter.tag, letter.gate,
            ],
            AttemptRecord.databaseTableName: [
                attempt.action, attempt.number, attempt.outcome, attempt.error, attempt.startedAt,
                attempt.endedAt,
            ],
            RunnerRecord.databaseTableName: [
                runner.process, runner.running, runner.leaseUntil,
            ],
        ]
        for (view, columns) in named {
            let actual = try await application.rows("SELECT name FROM pragma_table_info('\(view)')")
            #expect(Set(actual) == Set(columns.map(\.name)), "\(view)")
        }
        await broker.close()
    }

    @Test("A process that runs the queues has a record")
    func runner() async throws {
        let application = try Application(.pool, clock: ManualClock(wallMicroseconds: 1_800_000_000_123_457))
        let broker = try await application.broker()
        let (started, looked) = (EventLog<Int>(), EventLog<Int>())
        try broker.route("*", Note.self) { _, _ in
            started.append(1)
            _ = try await looked.wait(forCount: 1)
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            _ = try await started.wait(forCount: 1)
            let runners = try await application.database.read { db in
                try RunnerRecord.filter { $0.running == 1 }.fetchAll(db)
            }
            let runner = try #require(runners.first)
            #expect(runners.count == 1 && runner.process == Int(ProcessInfo.processInfo.processIdentifier))
            #expect(runner.leaseUntil > Date(timeIntervalSince1970: 1_800_000_000.123457))
            looked.append(1)
            await broker.waitUntilIdle()
        }
        await broker.close()
    }

    @Test("Times beyond the years that SQL can write are read from their numbers")
    func farTimes() async throws {
        let application = try Application(.queue)
        let broker = try await application.broker()
        let far = Date(timeIntervalSince1970: 300_000_000_000)
        try await broker.enqueue(Note("a"), EnqueueOptions(notBefore: far))
        let record = try await application.database.read { try ActionRecord.fetchOne($0) }
        #expect(record?.notBefore == far)
        await broker.close()
    }
}
#endif
