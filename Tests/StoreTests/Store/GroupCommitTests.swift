import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Group commit", .watched)
struct GroupCommitTests {
    /// Has writes wait behind a lock, so that they make one group, and gives their results in the order of
    /// the calls.
    private func group(
        _ fixture: StoreFixture,
        _ bodies: [@Sendable (WriteTransaction) throws -> String]
    ) async throws -> [Result<String, SluiceError>] {
        let results = EventLog<(index: Int, result: Result<String, SluiceError>)>()
        let other = try fixture.connect()
        try other.beginImmediate()
        // The first one leads and waits for the lock: all others stand in line behind it.
        let leader: @Sendable (WriteTransaction) throws -> String = { _ in "leader" }
        fixture.store.write(sync: .owed, leader) { results.append((-1, $0)) }
        for (index, body) in bodies.enumerated() {
            fixture.store.write(sync: .owed, body) { results.append((index, $0)) }
        }
        other.rollback()
        let all = try await results.wait(forCount: bodies.count + 1)
        return all.sorted { $0.index < $1.index }.dropFirst().map(\.result)
    }

    private static func enqueue(_ draft: ActionDraft) -> @Sendable (WriteTransaction) throws -> String {
        { "\(try $0.enqueues.enqueue([draft]).get()[0])" }
    }

    @Test("G1: enqueues of many tasks are all stored, in the order of their numbers")
    func concurrent() async throws {
        let fixture = try await StoreFixture()
        let ids = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for task in 0..<16 {
                group.addTask {
                    var ids: [Int64] = []
                    for number in 0..<50 {
                        ids.append(
                            try await fixture.store.add("\(task) \(number)", in: "q/\(task % 4)").rawValue
                        )
                    }
                    return ids
                }
            }
            return try await group.reduce(into: [[Int64]]()) { $0.append($1) }
        }
        #expect(ids.allSatisfy { $0 == $0.sorted() })
        #expect(ids.joined().sorted() == Array(1...800))
        #expect(try fixture.row("SELECT count(*) || ' ' || max(id) FROM sluice_action_rows") == "800 800")
        #expect(try fixture.row("SELECT value FROM sluice_counters WHERE name = 'action'") == "800")
        // The numbers of one caller are in the order of its calls, and what it stored under them is its own.
        let wrong = try fixture.rows(
            """
            SELECT a.id FROM sluice_actions AS a JOIN sluice_actions AS b
            ON substr(a.payload, 1, instr(a.payload, ' ')) = substr(b.payload, 1, instr(b.payload, ' '))
            WHERE a.id < b.id AND CAST(rtrim(substr(a.payload, instr(a.payload, ' ')), '"') AS INTEGER)
                                > CAST(rtrim(substr(b.payload, instr(b.payload, ' ')), '"') AS INTEGER)
            """
        )
        #expect(wrong.isEmpty)
    }

    @Test("Writes that wait for each other are one commit")
    func oneCommit() async throws {
        let fixture = try await StoreFixture()
        let before = fixture.commits.elements.count
        let results = try await group(
            fixture,
            (1...5).map { Self.enqueue(ActionDraft("\($0)", in: "q/\($0)")) }
        )
        #expect(try results.map { try $0.get() } == ["1", "2", "3", "4", "5"])
        let reports = fixture.commits.elements[before...]
        // Their order is written behind by a commit of its own, which touches none.
        #expect(reports.map(\.queues.count).filter { $0 > 0 } == [5])
    }

    @Test("G14: a member that fails harms none of its group, and the error is its own")
    func isolated() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("first", in: "numbers", by: .integer(1))
        let secret = "a payload that nobody may see"
        let bodies = [
            Self.enqueue(ActionDraft("1")),
            Self.enqueue(ActionDraft(secret, kind: String(repeating: "k", count: 256))),
            Self.enqueue(ActionDraft("2")),
            Self.enqueue(ActionDraft(secret, in: "numbers", by: .text("no number"))),
            Self.enqueue(ActionDraft(secret, in: "full", depthLimit: 0)),
            Self.enqueue(ActionDraft("3")),
        ]
        let results = try await group(fixture, bodies)
        let stored = [0, 2, 5].map { try? results[$0].get() }
        #expect(stored == ["2", "3", "4"])
        let errors = [1, 3, 4].map { index -> SluiceError? in
            if case .failure(let error) = results[index] { error } else { nil }
        }
        #expect(errors.map(\.?.code) == [.storage, .sortKeyMismatch, .queueFull])
        // G13
        #expect(errors.allSatisfy { $0.map { !"\($0)".contains("nobody") } == true })
        #expect(
            try fixture.rows("SELECT payload FROM sluice_actions WHERE queue = 'q'") == [
                "\"1\"", "\"2\"", "\"3\"",
            ]
        )
        #expect(try fixture.row("SELECT count(*) FROM sluice_queue_rows WHERE name = 'full'") == "0")
    }

    @Test("Several actions in one call are stored all or none")
    func allOrNone() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("first", in: "numbers", by: .integer(1))
        let mixed = [
            ActionDraft("a", in: "new"), ActionDraft("b", in: "numbers", by: .integer(0)),
            ActionDraft("c", in: "numbers", by: .real(0)),
        ]
        #expect(await refusal { try await fixture.store.add(mixed) } == .sortKeyMismatch)
        #expect(try fixture.row("SELECT count(*) FROM sluice_action_rows") == "1")
        // What the writer knew of the queue "new" has been forgotten with the transaction.
        #expect(try await fixture.store.add("d", in: "new").rawValue == 2)
        #expect(try await fixture.store.drain("new") == ["d"])
        #expect(try await fixture.store.drain("numbers") == ["first"])
    }

    @Test("A full queue refuses, with what stands in it and what the same call adds")
    func full() async throws {
        let fixture = try await StoreFixture()
        func drafts(_ count: Int) -> [ActionDraft] { (0..<count).map { ActionDraft("\($0)", depthLimit: 3) } }
        #expect(await refusal { try await fixture.store.add(drafts(4)) } == .queueFull)
        try await fixture.store.add(drafts(2))
        #expect(await refusal { try await fixture.store.add(drafts(2)) } == .queueFull)
        try await fixture.store.add(drafts(1))
        #expect(await refusal { try await fixture.store.add(drafts(1)) } == .queueFull)
        #expect(try await fixture.store.actionCount() == 3)
    }

    @Test("The blocking form keeps the order of calls of each thread")
    func blocking() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let failures = Mutex(0)
        try await onOwnThread {
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                for number in 0..<40 {
                    do {
                        _ = try store.enqueueBlocking([ActionDraft("\(number)", in: "q/\(thread)")])
                    } catch {
                        failures.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(failures.withLock { $0 } == 0)
        for thread in 0..<8 {
            #expect(try await store.drain("q/\(thread)") == (0..<40).map { "\($0)" })
        }
    }

    @Test("A completion may write again")
    func reentrant() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let log = EventLog<Int64>()
        let enqueue: @Sendable (WriteTransaction) throws -> Int64 = {
            try $0.enqueues.enqueue([ActionDraft("a")]).get()[0].rawValue
        }
        store.write(sync: .owed, enqueue) { first in
            log.append((try? first.get()) ?? -1)
            store.write(sync: .owed, enqueue) { log.append((try? $0.get()) ?? -1) }
        }
        try await #expect(log.wait(forCount: 2) == [1, 2])
    }

    @Test("What a rolled back member set aside, the right to run the queues, is given up when it runs again")
    func stopInAGroupThatFails() async throws {
        let fixture = try await StoreFixture()
        let results = try await group(
            fixture,
            [
                { transaction in
                    try transaction.registry.stopRunning()
                    return "stopped"
                },
                Self.enqueue(ActionDraft("x", kind: "")),
            ]
        )
        #expect(try results[0].get() == "stopped")
        #expect(try fixture.row("SELECT count(*) FROM sluice_runner_rows") == "0")
        try await fixture.store.startRunning()
    }

    @Test("A start that is rolled back leaves nobody running")
    func startInAGroupThatFails() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("a")
        let refused = await refusal {
            try await fixture.store.write(sync: .owed) { transaction in
                try transaction.registry.startRunning()
                throw SluiceError(.storage, "made up")
            }
        }
        #expect(refused == .storage)
        #expect(try await fixture.store.claim().word == "taken")
        #expect(try fixture.row("SELECT count(*) FROM sluice_runner_rows") == "0")
    }
}
