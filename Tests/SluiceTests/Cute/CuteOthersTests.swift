import Dispatch
import Foundation
import SluiceTestKit
import Testing

@testable import Sluice

/// What observers of a queue are told of others: brokers of other processes, and SQL.
@Suite("Cute: observers of what others do", .timeLimit(.minutes(2))) struct CuteOthersTests {
    private let callbacks = DispatchQueue(label: "test.cute")

    private func brokers(_ site: Site) async throws -> (mine: Broker, other: Broker) {
        (
            try await site.broker {
                $0.standFor(process: 1)
                $0.watchesLog = false
            }, try await site.broker { $0.standFor(process: 2) }
        )
    }

    @Test(
        "Cute: what another process adds, takes, cancels, moves and runs is told, whether this broker runs",
        arguments: [true, false]
    )
    func otherBroker(isRunning: Bool) async throws {
        let site = try Site()
        let (mine, other) = try await brokers(site)
        let log = EventLog<String>()
        let token = mine.queue("jobs", of: Note.self).observe(on: callbacks) { log.append($0.line) }
        let theirs = other.queue("jobs", of: Note.self)
        try other.route("jobs", Note.self) { _, _ in .success }
        @Sendable func next(_ count: Int) async throws -> String? {
            try await mine.store.compareTold()
            return try await log.wait(forCount: count).last
        }
        @Sendable func work() async throws {
            try await mine.store.compareTold()
            let ids = try await theirs.add(["a", "b", "c", "d"].map { Note($0) })
            try await #expect(next(1) == "added a b c d")
            try await theirs.cancel(ids[1])
            try await #expect(next(2) == "removed ?2")
            try await #expect(theirs.take() == ["a"])
            try await #expect(next(3) == "removed ?1")
            try await other.move(ids[2], to: "others")
            try await #expect(next(4) == "removed c")
            try await other.move(ids[2], to: "jobs")
            try await #expect(next(5) == "added c")
            try await running(other) { try await until { try await other.actionCount() == 0 } }
            try await mine.store.compareTold()
            // Two, if a look of the broker's own came between the two successes.
            try await until {
                log.elements.dropFirst(5).flatMap { $0.split(separator: " ") }.filter { $0 != "removed" }
                    == ["?3", "?4"]
            }
        }
        if isRunning {
            try await running(mine) { try await work() }
        } else {
            try await work()
        }
        token.cancel()
        await mine.close()
        await other.close()
    }

    @Test("Cute: a move by SQL is told where the action was and where it is; an edit of it is told nowhere")
    func moveBySQL() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        let tokens = ["jobs", "others"].map { name in
            broker.queue(QueueName(name), of: Note.self).observe(on: callbacks) {
                log.append("\(name): \($0.line)")
            }
        }
        try await running(broker) {
            try await broker.hold("*", by: "ops")
            try await broker.queue("jobs", of: Note.self).add([Note("a"), Note("b")])
            try await broker.store.compareTold()
            try site.shell("UPDATE sluice_actions SET tag = 't' WHERE id = 2")
            try site.shell("UPDATE sluice_actions SET queue = 'others' WHERE id = 1")
            try await broker.store.compareTold()
            let expected: Set = ["jobs: added a b", "jobs: removed a", "others: added a"]
            try await #expect(Set(log.wait(forCount: 3)) == expected)
            try await broker.store.compareTold()
        }
        callbacks.sync {}
        #expect(log.elements.count == 3)
        for token in tokens { token.cancel() }
        await broker.close()
    }

    @Test("Cute: observing has others looked for by itself, also while the broker does not run")
    func byItself() async throws {
        let site = try Site()
        let other = try await site.broker { $0.standFor(process: 2) }
        let mine = try await site.broker {
            $0.standFor(process: 1)
            $0.foreignChangeInterval = .seconds(1)
        }
        let log = EventLog<String>()
        let token = mine.queue("jobs", of: Note.self).observe(on: callbacks) { log.append($0.line) }
        try await mine.store.compareTold()
        try await site.clock.waitForSleeper(untilUptime: .seconds(1))
        try await other.queue("jobs", of: Note.self).add(Note("a"))
        site.clock.advance(by: .seconds(1))
        try await #expect(log.wait(forCount: 1) == ["added a"])
        token.cancel()
        await mine.close()
        await other.close()
    }

    @Test("Cute: what this broker does is told once, however often others commit in between")
    func ownChanges() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        @Sendable func others() async throws {
            try site.shell("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('else', 'note', '{}')")
            try await broker.store.compareTold()
        }
        try jobs.route { note, _ in
            try await others()
            if note.text != "c" { return .success }
            // Deleted while it runs: told at once, and its slot is still taken.
            try site.shell("DELETE FROM sluice_actions WHERE queue = 'jobs'")
            try await broker.store.takeInForeignChanges()
            try await others()
            return .success
        }
        try await others()
        try await jobs.add(["a", "b"].map { Note($0) })
        try await others()
        let taken = try #require(try await jobs.removeNext())
        try await others()
        try await jobs.putBack(taken)
        try await others()
        try await running(broker) {
            try await until { try await jobs.count() == 0 && broker.statistics.succeeded == 2 }
            try await jobs.add(Note("c"))
            try await until { broker.statistics.started == 3 && broker.workAhead != .now }
            try await others()
        }
        try await others()
        let expected = [
            "added a b", "removed a", "added a", "processed a", "processed b", "added c", "cancelled c",
        ]
        let lines = try await log.wait(forCount: expected.count)
        callbacks.sync {}
        #expect(lines.dropLast() == expected.dropLast() && log.elements.count == expected.count)
        #expect(lines.last?.hasPrefix("cancelled") == true)
        token.cancel()
        await broker.close()
    }

    @Test("Cute: what the application settles in a transaction of its own is told once, as processed")
    func ownTransaction() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        try jobs.route { _, attempt in
            try application.transaction { connection in try attempt.succeed(in: connection) }
            // It has gone, and is told of when its handler has returned.
            try await broker.store.compareTold()
            return .success
        }
        try await broker.store.compareTold()
        try await jobs.add(Note("a"))
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        try await broker.store.compareTold()
        try await #expect(log.wait(forCount: 2) == ["added a", "processed ?1"])
        callbacks.sync {}
        #expect(log.elements.count == 2)
        token.cancel()
        await broker.close()
    }

    @Test("Cute: many changes are told in parts; a queue that is too long is told of again when it is not")
    func bounds() async throws {
        let site = try Site()
        let (mine, other) = try await brokers(site)
        let log = EventLog<(Int, String)>()
        let token = mine.queue("jobs", of: Note.self).observe(on: callbacks, limit: 100_000) {
            log.append(($0.actions.count + $0.unreadable.count, $0.kind.rawValue))
        }
        try await mine.store.compareTold()
        let theirs = other.queue("jobs", of: Note.self)
        try await theirs.add((0..<2_500).map { Note("\($0)") })
        // However many comparisons a commit has, it tells as much as one.
        let isMore = try await mine.store.write(sync: .later) { try [$0.compareTold(), $0.compareTold()] }
        #expect(isMore == [true, true])
        try await mine.store.compareTold()
        try await #expect(log.wait(forCount: 3).map { $0.0 } == [1_000, 1_000, 500])
        try await theirs.add((0..<ToldQueues.limit).map { Note("\($0)") })
        try await mine.store.compareTold()
        // At once: of what is cleared in parts, a look of the broker's own may meet a part.
        try site.shell("DELETE FROM sluice_actions WHERE queue = 'jobs'")
        // Read anew: what was there in between is not told.
        try await mine.store.compareTold()
        try await theirs.add(Note("last"))
        try await mine.store.compareTold()
        try await #expect(log.wait(forCount: 4).last.map { $0 == (1, "added") } == true)
        token.cancel()
        await mine.close()
        await other.close()
    }

    @Test("What is rolled back was not told, before a comparison and behind it")
    func rolledBack() {
        func event(_ kind: QueueEvent.Kind, _ action: Int64, to target: QueueName? = nil) -> QueueEvent {
            var event = QueueEvent(kind, at: .distantPast, queue: "jobs")
            (event.action, event.target) = (ActionID(rawValue: action), target)
            return event
        }
        func numbers(_ told: ToldQueues, _ queue: QueueName = "jobs") -> [Int64]? {
            told.told(of: queue)?.map(\.rawValue).sorted()
        }
        func set(_ numbers: Int64...) -> Set<ActionID> { Set(numbers.map(ActionID.init(rawValue:))) }
        var told = ToldQueues()
        told.add(event(.enqueued, 1))
        #expect(numbers(told) == nil)
        told.set(["jobs": set(1, 2), "others": []])
        told.committed()
        told.add(event(.enqueued, 3))
        told.add(event(.moved, 1, to: "others"))
        #expect(numbers(told) == [2, 3] && numbers(told, "others") == [1])
        told.rollBack()
        #expect(numbers(told) == [1, 2] && numbers(told, "others") == [] && told.isStale)
        told.add(event(.succeeded, 1))
        told.set(["jobs": set(2, 4)])
        told.add(event(.removed, 4))
        told.rollBack()
        #expect(numbers(told) == [1, 2] && numbers(told, "others") == [])
        told.set(["jobs": Set((0..<Int64(ToldQueues.limit)).map(ActionID.init(rawValue:)))])
        told.committed()
        told.add(event(.enqueued, .max))
        #expect(numbers(told) == nil)
    }
}
