import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Copies of a live file", .watched(minutes: 5)) struct BackupTests {
    /// Opens a copy without a broker.
    private func open(_ path: String) throws -> Connection { try Connection(path: path, mode: .write) }

    private func count(_ sql: String, _ connection: Connection) throws -> Int {
        try connection.prepare("SELECT count(*) FROM \(sql)").first { $0.int(0) } ?? -1
    }

    /// What stands in the directory beside the file of queues and what SQLite keeps there.
    private func others(_ site: Site) throws -> [String] {
        let path = try #require(site.file).path
        let own = ["", "-wal", "-shm"].map { "queues.sqlite" + $0 }
        return try contents(besides: path).keys.filter { !own.contains($0) }.sorted()
    }

    @Test("G1: a copy under load is whole and private, and holds every enqueue acknowledged before")
    func underLoad() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let path = try #require(site.file).path + ".copy"
        let done = EventLog<String>()
        try broker.routeNotes("moving/*", to: done)
        let acknowledged = EventLog<Int64>()
        let before = try await running(broker) {
            let producers = (0..<4).map { lane in
                Task {
                    while !Task.isCancelled {
                        let id = try await broker.enqueue(Note("n", in: "kept/\(lane)")).id
                        acknowledged.append(id.rawValue)
                        try await broker.enqueue(Note("n", in: "moving/\(lane)"))
                    }
                }
            }
            _ = try await acknowledged.wait(forCount: 300)
            let before = Set(acknowledged.elements)
            try await broker.file?.backup(to: path)
            for producer in producers { producer.cancel() }
            for producer in producers { _ = await producer.result }
            return before
        }
        #expect(try mode(path) == 0o600)
        #expect(try others(site) == ["queues.sqlite.copy"])
        let copy = try open(path)
        #expect(try copy.pragma("integrity_check") == "ok")
        #expect(try copy.pragma("journal_mode") == "wal")
        let stored = try copy.prepare("SELECT id FROM sluice_action_rows").all { $0.int64(0) }
        #expect(before.subtracting(stored) == [])
        await broker.close()
    }

    @Test("A copy runs at once: what ran waits in it with its attempt given back, and is no suspect")
    func runsAtOnce() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let path = try #require(site.file).path + ".copy"
        let (started, end) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await end.received()
            return .success
        }
        for lane in 0..<3 { try await broker.enqueue(Note("n", in: "q\(lane)")) }
        let store = broker.fileEngine.store
        try await store.setGate("for a time", isOpen: true, isPersistent: false, spread: .zero)
        try await store.setGate("kept", isOpen: true, isPersistent: true, spread: .zero)
        try await running(broker) {
            try await started.received(3)
            // A second action behind each that runs.
            for lane in 0..<3 { try await broker.enqueue(Note("n", in: "q\(lane)")) }
            try await broker.file?.backup(to: path)
            end.send()
        }
        do {
            let copy = try open(path)
            #expect(try count("sluice_claim_rows", copy) == 0)
            #expect(try count("sluice_runner_rows", copy) == 0)
            #expect(try count("sluice_changes", copy) == 0)
            #expect(try count("sluice_checkpointer", copy) == 0)
            #expect(try count("sluice_gate_rows", copy) == 1)
            #expect(try count("sluice_state_rows WHERE is_suspect", copy) == 0)
            copy.close()
        }
        let second = try await Broker(file: path, options: .on(site.clock))
        let attempts = EventLog<Int>()
        try second.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            return .success
        }
        try await running(second) { await second.waitUntilIdle() }
        #expect(attempts.elements == [1, 1, 1, 1, 1, 1])
        await second.close()
        await broker.close()
    }

    @Test("G7: what ran in a process that has died is a suspect in the copy, and what runs here is none")
    func suspects() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add([ActionDraft("dead's"), ActionDraft("ours", in: "r")])
        for queue: QueueName in ["q", "r"] { _ = try await fixture.store.take(queue) }
        try fixture.execute(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            VALUES (99, 1, 'another start-of-the machine', 0, 9000000000000000000);
            UPDATE sluice_claim_rows SET claim = 99 << 32 WHERE action_id = 1;
            """
        )
        let path = fixture.file.path + ".copy"
        try await fixture.store.backUp(to: path)
        let copy = try open(path)
        #expect(
            try copy.prepare("SELECT action_id FROM sluice_state_rows WHERE is_suspect").all { $0.int(0) }
                == [1]
        )
        #expect(try count("sluice_claim_rows", copy) == 0)
        #expect(try fixture.row("SELECT count(*) FROM sluice_state_rows WHERE is_suspect") == "0")
    }

    @Test("What was asked for while actions ran has been done in the copy: one has gone, one has moved")
    func askedWhileRunning() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let path = try #require(site.file).path + ".copy"
        let (started, end) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            await end.receivedInAnyCase()
            return .success
        }
        let gone = try await broker.enqueue(Note("gone", in: "a")).id
        let moved = try await broker.enqueue(Note("moved", in: "b")).id
        try await running(broker) {
            defer { end.send() }
            try await started.received(2)
            _ = try await broker.cancel(gone)
            _ = try await broker.move(moved, to: "elsewhere")
            try await broker.file?.backup(to: path)
        }
        let copy = try open(path)
        let rows = try copy.prepare("SELECT id || ' ' || queue FROM sluice_actions").all { $0.text(0) }
        #expect(rows == ["\(moved) elsewhere"])
        await broker.close()
    }

    @Test("Actions that a copy enqueues have other idempotency keys than those of the original")
    func keys() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let path = try #require(site.file).path + ".copy"
        try await broker.enqueue(Note("before"))
        try await broker.file?.backup(to: path)
        func keys(_ broker: Broker) async throws -> [String] {
            let keys = EventLog<String>()
            try broker.route("*", Note.self) { _, attempt in
                keys.append(attempt.idempotencyKey)
                return .success
            }
            try await broker.enqueue(Note("after"))
            try await running(broker) { await broker.waitUntilIdle() }
            await broker.close()
            return keys.elements
        }
        let ours = try await keys(broker)
        let theirs = try await keys(Broker(file: path, options: .on(site.clock)))
        try #require(ours.count == 2 && theirs.count == 2)
        // The one that was copied is the same action; the other only has the same number.
        #expect(ours[0] == theirs[0])
        #expect(ours[1] != theirs[1])
    }

    @Test("Writes that go on do not have the copy begin anew: it ends in a number of steps that is known")
    func ends() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for _ in 0..<40 { try await store.add(String(repeating: "x", count: 3_000)) }
        let pages = try #require(Int(try fixture.row("PRAGMA page_count")))
        let steps = Mutex(0)
        let path = fixture.file.path + ".copy"
        try await store.backUp(to: path) { copy in
            copy.pagesAtATime = 1
            copy.stepped = {
                steps.withLock { $0 += 1 }
                _ = try store.enqueueBlocking([ActionDraft("meanwhile")])
            }
        }
        #expect((pages - 1...pages + 1).contains(steps.withLock { $0 }))
        #expect(try count("sluice_action_rows", try open(path)) == 40)
        #expect(try await store.actionCount() == 40 + steps.withLock { $0 })
    }

    @Test("What stands at the destination is left as it is", arguments: ["", "-wal", "-journal", "-shm"])
    func destinationExists(_ suffix: String) async throws {
        let site = try Site()
        let broker = try await site.broker()
        let path = try #require(site.file).path + ".copy"
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path + suffix))
        let error = await #expect(throws: SluiceError.self) { try await broker.file?.backup(to: path) }
        #expect(error?.code == .destinationExists)
        #expect(error?.message.contains(path + suffix) == true)
        #expect(try others(site) == ["queues.sqlite.copy" + suffix])
        #expect(try contents(besides: path)["queues.sqlite.copy" + suffix] == Data("mine".utf8))
        // Nor is a file written over itself.
        let own = try #require(site.file).path
        #expect(await refusal { try await broker.file?.backup(to: own) } == .destinationExists)
        await broker.close()
    }

    @Test("What comes to stand there while the copy is made is left as it is too")
    func destinationComes() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        let path = fixture.file.path + ".copy"
        let code = await refusal {
            try await fixture.store.backUp(to: path) { copy in
                copy.pagesAtATime = 1
                copy.stepped = { try Data("mine".utf8).write(to: URL(fileURLWithPath: path)) }
            }
        }
        #expect(code == .destinationExists)
        let found = try contents(besides: path).filter { $0.key.contains("copy") }
        #expect(found == ["queues.sqlite.copy": Data("mine".utf8)])
    }

    @Test("A link to nowhere and a missing directory are refused; queues in memory have no file")
    func refused() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let path = try #require(site.file).path + ".copy"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "-nowhere")
        #expect(await refusal { try await broker.file?.backup(to: path) } == .destinationExists)
        #expect(await refusal { try await broker.file?.backup(to: "\(path)/no/such") } == .cannotOpen)
        await broker.close()
        #expect(await refusal { try await broker.file?.backup(to: path + "2") } == .closed)
        let memory = try await Site(.memory).broker()
        #expect(memory.file == nil)
        await memory.close()
    }

    @Test("A full disk and syncs that fail leave nothing behind, whenever they come")
    func fullDisk() async throws {
        let disk = try FaultyDisk()
        let site = try Site()
        let broker = try await site.broker { $0.file.vfs = disk.name }
        let path = try #require(site.file).path + ".copy"
        for _ in 0..<50 { try await broker.enqueue(Note(String(repeating: "x", count: 3_000))) }
        var refusals = 0
        for room in Int32(0)... {
            disk.setRoom(room)
            let code = await refusal { try await broker.file?.backup(to: path) }
            disk.setRoom(nil)
            guard let code else { break }
            refusals += 1
            #expect(code == .diskFull)
            try #require(try others(site) == [], "after \(room) writes")
        }
        #expect(refusals > 50)
        try FileManager.default.removeItem(atPath: path)
        disk.breakDown()
        #expect(await refusal { try await broker.file?.backup(to: path) } == .inputOutput)
        disk.mend()
        #expect(try others(site) == [])
        try await broker.file?.backup(to: path)
        try await broker.enqueue(Note("after"))
        await broker.close()
    }
}
