import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A commit whose sync fails is reported as unknown; the recovery of the WAL, when the file is opened again,
/// finds it.
@Suite("Commits whose result was unknown, and that the file has", .watched)
struct UnknownCommitTests {
    /// A broker on a disk that fails, with a connection of another program that can keep writes waiting.
    private struct Stage: Sendable {
        let site: Site
        let disk: FaultyDisk
        let broker: Broker
        /// Used by the test's own task alone.
        nonisolated(unsafe) let other: Connection

        init(_ change: (inout BrokerOptions) -> Void = { _ in }) async throws {
            site = try Site()
            disk = try FaultyDisk()
            let name = disk.name
            broker = try await site.broker {
                $0.file.vfs = name
                change(&$0)
            }
            other = try Connection(path: #require(site.file).path, mode: .write)
            other.setBusyTimeout(patience)
        }

        /// Lets writes wait in line behind a first one, until `release`.
        func block() throws { try other.execute("BEGIN IMMEDIATE") }

        /// Lets the waiting writes commit on the disk as it is now.
        func release() throws {
            try other.execute("COMMIT")
            other.close()
        }

        func waits(_ count: Int) async throws {
            let start = ContinuousClock.now
            try await until {
                let load = broker.fileEngine.store.writer.load
                // Before the watchdog ends the run, which would not say this.
                if start.duration(to: .now) > .seconds(90) {
                    Issue.record("\(count) were to wait in line: \(load)")
                    throw CancellationError()
                }
                return load.isLed && load.waiting == count
            }
        }

        /// Closes and opens the file, on a disk that works.
        func reopen() async throws {
            await broker.file?.suspend()
            disk.mend()
            try await broker.file?.resume()
        }

        /// Lets the time go on for what is tried again, until the body returns.
        func whileTimePasses<Value>(_ body: () async throws -> Value) async throws -> Value {
            let time = Task {
                while true {
                    try await site.clock.waitForSleeper(untilUptime: site.clock.uptime + .seconds(1))
                    site.clock.advance(by: .seconds(1))
                }
            }
            defer { time.cancel() }
            return try await body()
        }

        func row(_ sql: String) throws -> String? {
            let connection = try Connection(path: #require(site.file).path, mode: .read)
            defer { connection.close() }
            return try connection.prepare(sql).first { $0.text(0) }
        }
    }

    @Test("G8, G11: a claim and a settlement in it: the action runs, and the settlement is not stale")
    func claim() async throws {
        let stage = try await Stage()
        let broker = stage.broker
        let log = EventLog<String>()
        let (goA, goC) = (Signal(), Signal())
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "a" { try await goA.received() }
            if note.text == "c" { try await goC.received() }
            return .success
        }
        try await running(broker) {
            _ = try await broker.enqueue(Note("a", in: "q"))
            // Their queues have no order between them.
            _ = try await log.wait(forCount: 1)
            _ = try await broker.enqueue(Note("c", in: "r"))
            _ = try await log.wait(forCount: 2)
            // A wake-up that comes late has the scheduler claim once more, which would wait in line too.
            try await until {
                broker.fileEngine.isAtRest(butFor: 2) && !broker.fileEngine.store.writer.load.isLed
            }
            try stage.block()
            goC.send()
            try await stage.waits(0)
            let enqueue = Task { try await broker.enqueue(Note("b", in: "q")) }
            try await stage.waits(1)
            // With the settlement of "a" goes the claim of "b".
            goA.send()
            try await stage.waits(2)
            stage.disk.breakDown()
            try stage.release()
            #expect(await refusal { _ = try await enqueue.value } == .unknownCommit)
            try await stage.reopen()
            try await stage.whileTimePasses {
                _ = try await log.wait(forCount: 3)
                try await until { broker.statistics.succeeded == 3 }
            }
        }
        #expect(log.elements == ["a", "c", "b"])
        #expect(broker.statistics.staleCompletions == 0)
        await broker.close()
        #expect(try stage.row("SELECT count(*) || '' FROM sluice_claim_rows") == "0")
        #expect(try stage.row("SELECT count(*) || '' FROM sluice_action_rows") == "0")
    }

    @Test("G5: a success with the application's writes is written once, and counts as settled")
    func ownWrites() async throws {
        let stage = try await Stage()
        let broker = stage.broker
        try stage.site.shell("CREATE TABLE sent (text TEXT) STRICT")
        let (started, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { note, _ in
            started.send()
            try await go.received()
            return .success { try run("INSERT INTO sent VALUES ('\(note.text)')", on: $0.connection) }
        }
        try await running(broker) {
            _ = try await broker.enqueue(Note("a", in: "q"))
            try await started.received()
            stage.disk.breakDown()
            go.send()
            try await until { stage.disk.failedSyncs > 0 && !broker.fileEngine.store.writer.load.isLed }
            try await stage.reopen()
            try await stage.whileTimePasses { try await until { broker.statistics.succeeded == 1 } }
        }
        #expect(broker.statistics.staleCompletions == 0)
        await broker.close()
        #expect(try stage.row("SELECT group_concat(text) FROM sent") == "a")
    }

    @Test("G9: a route's limit counts handlers that began before the file was closed and opened")
    func limit() async throws {
        let stage = try await Stage()
        let broker = stage.broker
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self, RouteOptions(concurrency: 1)) { note, _ in
            log.append(note.text)
            if note.text == "1" { try await go.received() }
            return .success
        }
        try await running(broker) {
            _ = try await broker.enqueue(Note("1", in: "q"))
            _ = try await log.wait(forCount: 1)
            await broker.file?.suspend()
            try await broker.file?.resume()
            _ = try await broker.enqueue(Note("2", in: "r"))
            try await until { broker.fileEngine.isAtRest(butFor: 1) }
            #expect(log.elements == ["1"])
            go.send()
            _ = try await log.wait(forCount: 2)
        }
        await broker.close()
    }

    @Test("A table of the application's made after a suspension is no older copy, while a handler runs")
    func schema() async throws {
        let stage = try await Stage()
        let broker = stage.broker
        let (started, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await go.received()
            return .success
        }
        try await running(broker) {
            _ = try await broker.enqueue(Note("1"))
            try await started.received()
            await broker.file?.suspend()
            try await broker.file?.resume()
            _ = try await broker.enqueue(Note("2", in: "r"))
            try stage.site.shell("CREATE TABLE notes (text TEXT)")
            _ = try await broker.enqueue(Note("3", in: "s"))
            go.send()
            try await until { broker.statistics.succeeded == 3 }
        }
        await broker.close()
    }
}
