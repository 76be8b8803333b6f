import CSluiceSQLite
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Settling with the application's writes", .watched)
struct SettlingTests {
    /// Marks a message sent, on the engine's connection.
    private static func insert(_ text: String) -> @Sendable (SettlingTransaction) throws -> Void {
        { try run("INSERT INTO messages (text) VALUES ('\(text)')", on: $0.connection) }
    }

    /// What the application's table holds, read by the engine.
    private func texts(_ broker: Broker) async throws -> [String] {
        try await broker.fileEngine.store.read {
            try $0.prepare("SELECT text FROM messages ORDER BY id").all { $0.text(0) }
        }
    }

    @Test(
        "G5: what a success writes, the settling and the follow-ups are one transaction",
        arguments: QueueStorage.allCases
    )
    func success(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.file.prepareConnection = makeTables }
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            guard note.text == "first" else { return .success }
            return .success { transaction in
                try Self.insert("sent")(transaction)
                try transaction.enqueue(Note("follow-up"))
                try transaction.enqueue([Note("a", in: "other"), Note("b", in: "other")])
                try transaction.enqueue(raw: [
                    RawAction(queue: "raw", kind: "note", payload: #"{"text":"c"}"#)
                ])
            }
        }
        let receipt = try await broker.enqueue(Note("first"))
        try await running(broker) {
            try await #expect(receipt.settled() == .succeeded)
            await broker.waitUntilIdle()
        }
        #expect(log.elements.first == "first")
        #expect(Set(log.elements) == ["first", "follow-up", "a", "b", "c"])
        try await #expect(texts(broker) == ["sent"])
        #expect(broker.statistics.succeeded == 5)
        await broker.close()
    }

    @Test("A closure that throws has nothing written, and is a retry by the policy with its error")
    func throwing() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.file.prepareConnection = makeTables }
        let log = EventLog<String>()
        try broker.route("*", Note.self, retrying(.fixed(.seconds(5)))) { note, attempt in
            log.append("\(note.text) \(attempt.number) \(attempt.lastError ?? "-")")
            return .success { transaction in
                try Self.insert(note.text)(transaction)
                try transaction.enqueue(Note("never \(attempt.number)", in: "follow"))
                if attempt.number == 1 { throw TestError("no row") }
            }
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            try await #expect(texts(broker) == [])
            try await #expect(broker.actionCount() == 2)
            site.clock.advance(by: .seconds(5))
            try await until { broker.statistics.retried >= 2 }
            site.clock.advance(by: .seconds(5))
            try await until { try await texts(broker).count >= 2 }
        }
        #expect(log.elements.prefix(4).contains("a 2 no row"))
        #expect(try await texts(broker).starts(with: ["a"]))
        await broker.close()
    }

    @Test("G6: a receipt that no longer holds the slot has its closure not even called")
    func stale() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.prepareConnection = makeTables }
        let calls = EventLog<Int>()
        try broker.route("*", Note.self) { note, attempt in
            if calls.elements.isEmpty && broker.statistics.staleCompletions == 0 {
                try site.shell("DELETE FROM sluice_claim_rows")
            }
            return .success { transaction in
                calls.append(attempt.number)
                try Self.insert(note.text)(transaction)
            }
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.succeeded == 1 }
        }
        #expect(broker.statistics.staleCompletions == 1)
        #expect(calls.elements.count == 1)
        try await #expect(texts(broker) == ["a"])
        await broker.close()
    }

    @Test("G6: an action that was deleted while it ran has nothing written; a cancelled one's success stands")
    func removed() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.prepareConnection = makeTables }
        try broker.route("*", Note.self) { note, attempt in
            if note.text == "deleted" {
                try site.shell("DELETE FROM sluice_actions WHERE id = \(attempt.id)")
            } else {
                try await broker.cancel(attempt.id)
            }
            return .success(Self.insert(note.text))
        }
        try await broker.enqueue([Note("deleted"), Note("cancelled")])
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        #expect(broker.statistics.removed == 1)
        try await #expect(texts(broker) == ["cancelled"])
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("The closure shares its transaction with nobody: what it throws harms no other write")
    func alone() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        let action = try await store.take()
        let calls = EventLog<Int>()
        let closure = SettlingClosure { _ in
            calls.append(1)
            throw TestError("no")
        }
        let work = SettlingWork(
            closure,
            Drafter(PayloadCoder(maximumByteCount: 1_000), Routes(), SystemClock())
        )
        let other = try fixture.connect()
        try other.beginImmediate()
        let leader = Task { try await store.claim("q") }
        try await until { store.writer.load.isLed && store.writer.load.waiting == 0 }
        let before = Task { try await store.add("before", in: "x") }
        try await until { store.writer.load.waiting == 1 }
        let failing = Task { try await store.settle(action, .successWriting(work)) }
        try await until { store.writer.load.waiting == 2 }
        let behind = Task { try await store.add("behind", in: "x") }
        try await until { store.writer.load.waiting == 3 }
        other.rollback()
        _ = try await (leader.value, before.value, behind.value)
        await #expect(throws: SluiceError.self) { try await failing.value }
        #expect(calls.elements.count == 1)
        #expect(work.failure is TestError)
        #expect(try await store.drain("x") == ["before", "behind"])
        #expect(try await store.settle(action, .success).result == .settled)
        await store.close()
    }

    @Test("G1: a settling that carries the application's writes is synced, a plain one is not")
    func synced() async throws {
        let disk = try FaultyDisk()
        let fixture = try await StoreFixture(adjust: { $0.file.vfs = disk.name })
        let store = fixture.store
        try await store.add([ActionDraft("a"), ActionDraft("b")])
        let first = try await store.take()
        let before = disk.syncs
        try await store.settle(first, .success)
        #expect(disk.syncs == before)
        let second = try await store.take()
        let work = SettlingWork(
            SettlingClosure { _ in },
            Drafter(PayloadCoder(maximumByteCount: 1_000), Routes(), SystemClock())
        )
        #expect(try await store.settle(second, .successWriting(work)).result == .settled)
        #expect(disk.syncs > before)
        await store.close()
    }

    @Test("A follow-up that is scheduled for later starts at its time")
    func followUpLater() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let later = (site.clock.now + .seconds(7)).date
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            guard note.text == "first" else { return .success }
            return .success { try $0.enqueue(Note("later"), EnqueueOptions(notBefore: later)) }
        }
        try await broker.enqueue(Note("first"))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(7))
            site.clock.advance(by: .seconds(7))
            try await #expect(log.wait(forCount: 2) == ["first", "later"])
        }
        await broker.close()
    }

    @Test("Outcomes with closures are equal when they are the same")
    func equality() {
        let outcome = Outcome.success { _ in }
        #expect(outcome == outcome)
        #expect(outcome != .success)
        #expect(outcome != .success { _ in })
    }
}
