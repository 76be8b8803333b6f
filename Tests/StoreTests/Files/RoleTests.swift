import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Roles", .watched(minutes: 5)) struct RoleTests {
    /// A file with a waiting action, a dead letter, a hold and a gate.
    private func filled() async throws -> Site {
        let site = try Site()
        let broker = try await site.broker()
        try broker.route("*", Note.self, RouteOptions(failure: FailurePolicies(failed: .skip))) { _, _ in
            .fail("refused")
        }
        try await broker.enqueue(Note("dead", in: "a"))
        try await running(broker) { await broker.waitUntilIdle() }
        try await broker.hold("b", by: "ops", reason: "why")
        try await broker.openGate("g", isPersistent: true)
        try await broker.enqueue(Note("waiting", in: "b"))
        await broker.close()
        return site
    }

    @Test("One that enqueues only enqueues and operates, and says its role when it is to run")
    func enqueueOnly() async throws {
        let site = try await filled()
        let broker = try await site.broker { $0.file.role = .enqueueOnly }
        try await broker.enqueue(Note("more", in: "a"))
        #expect(try await broker.endHolds(matching: "b") == 1)
        let error = await #expect(throws: SluiceError.self) { try await broker.run() }
        #expect(error?.code == .wrongRole)
        #expect(error?.message.contains("enqueueOnly") == true)
        #expect(error?.localizedDescription == error?.description)
        // What it could not run it does not wait for.
        await broker.waitUntilIdle()
        try await #expect(broker.actionCount() == 2)
        await broker.close()
        let runner = try await site.broker()
        let log = EventLog<String>()
        try runner.routeNotes(to: log)
        try await running(runner) { await runner.waitUntilIdle() }
        #expect(Set(log.elements) == ["more", "waiting"])
        await runner.close()
    }

    @Test(
        "G11: one that runs nothing tells how a queue stands that another process runs",
        arguments: [BrokerRole.enqueueOnly, .readOnly]
    )
    func tellsOfOthers(_ role: BrokerRole) async throws {
        let site = try Site()
        let runner = try await site.broker { $0.standFor(process: 1) }
        try runner.routeNotes(to: EventLog())
        try await runner.enqueue([Note("a"), Note("b")])
        let watcher = try await site.broker {
            $0.standFor(process: 2)
            $0.file.role = role
            $0.clock = SystemClock()
            $0.file.foreignChangeInterval = .milliseconds(5)
        }
        var updates = watcher.statusUpdates(of: "notes").makeAsyncIterator()
        #expect(try await updates.next()?.depth == 2)
        try await running(runner) { await runner.waitUntilIdle() }
        while let status = try await updates.next(), status.depth > 0 {}
        try await #expect(watcher.status(of: "notes").state == .empty)
        await watcher.close()
        #expect(try await updates.next() == nil)
        await runner.close()
    }

    @Test("One that reads only reads all there is, and leaves the file as it was")
    func reads() async throws {
        let site = try await filled()
        let path = try #require(site.file).path
        let before = try contents(besides: path)
        let broker = try await site.broker { $0.file.role = .readOnly }
        try await #expect(broker.status(of: "b").depth == 1)
        try await #expect(broker.statuses().map(\.queue) == ["b"])
        try await #expect(broker.deadLetters().map(\.queue) == ["a"])
        try await #expect(broker.holds().map(\.holder) == ["ops"])
        try await #expect(broker.gates().count == 1)
        try await #expect(broker.actionSummaries().count == 1)
        _ = try await broker.fileEngine.store.health()
        #expect(broker.statistics == Statistics())
        try await broker.file?.backup(to: path + ".copy")
        await broker.close()
        try FileManager.default.removeItem(atPath: path + ".copy")
        #expect(try contents(besides: path) == before)
    }

    @Test("One that reads only refuses every write, and says what to do")
    func refusesWrites() async throws {
        let site = try await filled()
        let broker = try await site.broker { $0.file.role = .readOnly }
        let writes: [@Sendable () async throws -> Void] = [
            { try await broker.enqueue(Note("x")) }, { try broker.enqueueBlocking(Note("x")) },
            { try await broker.retryNow() }, { _ = try await broker.cancel(ActionID(rawValue: 2)) },
            { try await broker.hold("b", by: "me") }, { try await broker.endHolds(matching: "b") },
            { try await broker.openGate("g") }, { try await broker.closeGate("g") },
            { _ = try await broker.requeue(ActionID(rawValue: 1)) }, { try await broker.file?.flush() },
            { _ = try await broker.move(ActionID(rawValue: 2), to: "c") },
            { _ = try await broker.skipHead(of: "b", reason: "r") },
        ]
        for (index, write) in writes.enumerated() {
            let error = await #expect(throws: SluiceError.self, "\(index)") { try await write() }
            #expect(error?.code == .readOnly, "\(index)")
            #expect(error?.message.contains("role run") == true)
        }
        #expect(await refusal { try await broker.run() } == .wrongRole)
        await broker.close()
        #expect(await refusal { try await broker.enqueue(Note("x")) } == .readOnly)
        #expect(await refusal { try await broker.actionCount() } == .closed)
    }

    @Test("One that reads only makes nothing: neither a file nor tables nor steps of the schema")
    func makesNothing() async throws {
        func open(_ file: TemporaryFile) async -> SluiceError.Code? {
            await refusal { try await openAndClose(file.path) { $0.file.role = .readOnly } }
        }
        let missing = try TemporaryFile()
        #expect(await open(missing) == .cannotOpen)
        #expect(try contents(besides: missing.path).isEmpty)
        for (sql, code) in [
            ("PRAGMA journal_mode = WAL; CREATE TABLE own (a)", SluiceError.Code.schemaMissing),
            ("PRAGMA encoding = 'UTF-16le'; CREATE TABLE own (a)", .unsupportedDatabase),
        ] {
            let file = try TemporaryFile()
            let connection = try Connection(path: file.path, mode: .create)
            try connection.execute(sql)
            connection.close()
            let before = try contents(besides: file.path)
            #expect(await open(file) == code)
            #expect(try contents(besides: file.path) == before)
        }
        var options = BrokerOptions()
        options.file.role = .readOnly
        #expect(await refusal { try await Broker.inMemory(options) } == .invalidOptions)
    }

    @Test("One that reads only finds what a dead process left in the log, and leaves the log alone")
    func logOfTheDead() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("in the log")
        let copy = try TemporaryFile()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: fixture.file.path + suffix, toPath: copy.path + suffix)
        }
        var before = try contents(besides: copy.path)
        #expect(before["queues.sqlite-wal"]?.isEmpty == false)
        var options = BrokerOptions()
        options.file.role = .readOnly
        let broker = try await Broker(file: copy.path, options: options)
        try await #expect(broker.actionCount() == 1)
        await broker.close()
        var after = try contents(besides: copy.path)
        before["queues.sqlite-shm"] = nil
        after["queues.sqlite-shm"] = nil
        #expect(after == before)
    }

    @Test("One that reads only reads beside another process that runs the queues, and sees what it commits")
    func beside() async throws {
        let site = try await filled()
        let broker = try await site.broker { $0.file.role = .readOnly }
        for count in 2...4 {
            try site.shell("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('b', 'note', '{}')")
            try await #expect(broker.actionCount() == count)
        }
        await broker.close()
    }

    @Test("A file that cannot be written is opened in no other role by itself: the error names the one")
    func saysSo() async throws {
        let file = try TemporaryFile()
        let disk = try FaultyDisk()
        try await openAndClose(file.path)
        disk.setReadOnly()
        for role in [BrokerRole.run, .enqueueOnly] {
            let error = await #expect(throws: SluiceError.self) {
                try await openAndClose(file.path) {
                    $0.file.vfs = disk.name
                    $0.file.role = role
                }
            }
            #expect(error?.code == .readOnly)
            #expect(error?.message.contains("BrokerRole.readOnly") == true)
        }
        try await openAndClose(file.path) {
            $0.file.vfs = disk.name
            $0.file.role = .readOnly
            $0.file.mountFacts = { _ in MountFacts(isReadOnly: true) }
        }
    }
}
