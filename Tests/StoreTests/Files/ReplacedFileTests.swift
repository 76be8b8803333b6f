import Foundation
import Logging
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A file that is replaced beneath its broker", .watched(minutes: 5)) struct ReplacedFileTests {
    /// What may become of a file.
    enum Fate: String, CaseIterable, CustomTestStringConvertible {
        case removed, renamed, replaced, directoryRenamed
        var testDescription: String { rawValue }

        func befall(_ path: String) throws {
            let manager = FileManager.default
            switch self {
            case .removed: try manager.removeItem(atPath: path)
            case .renamed: try manager.moveItem(atPath: path, toPath: path + ".old")
            case .replaced:
                // As an editor does, or a restore.
                try manager.copyItem(atPath: path, toPath: path + ".new")
                guard rename(path + ".new", path) == 0 else { throw Unexpected(description: "rename") }
            case .directoryRenamed:
                let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
                try manager.moveItem(atPath: directory, toPath: directory + ".old")
            }
        }

        /// Puts the file back that was opened, where there is a way.
        func undo(_ path: String) throws {
            let manager = FileManager.default
            switch self {
            case .removed, .replaced: break
            case .renamed: try manager.moveItem(atPath: path + ".old", toPath: path)
            case .directoryRenamed:
                let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
                try manager.moveItem(atPath: directory + ".old", toPath: directory)
            }
        }
    }

    @Test(
        "A broker that runs stops with the error, logged once, which names the path; nothing revives it",
        arguments: Fate.allCases
    )
    func stops(_ fate: Fate) async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let errors = EventLog<String>()
        let broker = try await site.broker {
            $0.file.watchesWAL = false
            $0.file.foreignChangeInterval = .seconds(1)
            $0.logger = .keeping(errors, from: .error)
        }
        let (started, cancelled) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            do { try await untilCancelled() } catch { cancelled.send() }
            return .success
        }
        try await broker.enqueue(Note("a"))
        let run = Task { try await broker.run() }
        try await started.received()
        try fate.befall(path)
        try await site.clock.waitForSleeper(untilUptime: .seconds(1))
        site.clock.advance(by: .seconds(1))
        let error = await #expect(throws: SluiceError.self) { try await run.value }
        #expect(error?.code == .fileReplaced)
        #expect(error?.message.contains(path) == true)
        #expect(cancelled.elements.count == 1)
        #expect(errors.elements.count { $0.contains("cannot continue") } == 1, "\(errors.elements)")
        try fate.undo(path)
        for _ in 0..<2 {
            #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
            #expect(await refusal { try broker.enqueueBlocking(Note("b")) } == .fileReplaced)
            #expect(await refusal { try await broker.status(of: "notes") } == .fileReplaced)
            #expect(await refusal { try await broker.file?.backup(to: path + ".copy") } == .fileReplaced)
            #expect(await refusal { try await broker.run() } == .fileReplaced)
            site.clock.advance(by: .seconds(1))
        }
        await broker.close()
    }

    @Test(
        "A broker that only enqueues finds it with the first write a second later",
        arguments: Fate.allCases
    )
    func enqueuing(_ fate: Fate) async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        try fate.befall(path)
        // Also when the wall clock is set back meanwhile.
        site.clock.jumpWall(by: fate == .removed ? .seconds(-3_600) : .seconds(1))
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
        try fate.undo(path)
        #expect(await refusal { try await broker.enqueue(Note("c")) } == .fileReplaced)
        await broker.close()
        guard fate == .renamed || fate == .directoryRenamed else { return }
        let second = try await site.broker()
        try await #expect(second.actionCount() == 1)
        await second.close()
    }

    @Test("A file beside which nothing has changed is not given up, whatever is written to it")
    func unchanged() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        for _ in 0..<5 {
            try await broker.enqueue(Note("a"))
            try site.shell("CREATE TABLE IF NOT EXISTS own (a); INSERT INTO own VALUES (1); VACUUM")
            try FileManager.default.linkItem(atPath: path, toPath: path + ".second")
            try FileManager.default.removeItem(atPath: path + ".second")
            site.clock.advance(by: .seconds(2))
        }
        try await #expect(broker.actionCount() == 5)
        await broker.close()
    }

    /// Takes the tables of the queues away, as GRDB erases a database.
    private func erase(_ connection: Connection) throws {
        for kind in ["trigger", "view", "table"] {
            let names = try connection.prepare(
                "SELECT name FROM sqlite_schema WHERE type = ? AND name GLOB 'sluice_*'"
            )
            .bind(1, kind).all { $0.text(0) }
            for name in names { try connection.execute("DROP \(kind) IF EXISTS \(name)") }
        }
    }

    @Test("Tables that are gone end a broker that runs, and one that is opened again makes them anew")
    func erased() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.watchesWAL = false }
        try await broker.enqueue(Note("a"))
        let run = Task { try await broker.run() }
        try await until { broker.fileEngine.hasLookedAround }
        let application = try Connection(path: #require(site.file).path, mode: .write)
        application.setBusyTimeout(patience)
        try erase(application)
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
        #expect(await refusal { try await run.value } == .fileReplaced)
        #expect(await refusal { try await broker.status(of: "notes") } == .fileReplaced)
        await broker.close()
        let second = try await site.broker()
        try await second.enqueue(Note("c"))
        try await #expect(second.actionCount() == 1)
        await second.close()
    }

    @Test(
        "A log or its index that is removed beneath a broker is found, and the close keeps what stands in it",
        arguments: [["-wal", "-shm"], ["-wal"], ["-shm"]]
    )
    func logRemoved(_ suffixes: [String]) async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        for suffix in suffixes { try FileManager.default.removeItem(atPath: path + suffix) }
        site.clock.advance(by: .seconds(1))
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
        #expect(await refusal { try await broker.status(of: "notes") } == .fileReplaced)
        await broker.close()
        let second = try await site.broker()
        try await #expect(second.actionCount() == 1)
        await second.close()
    }

    @Test("A log that others have made in the place of one that was removed is left to them")
    func logReplaced() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
        // In this process SQLite would know that the index is not the one it has open.
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
        let before = try contents(besides: path)
        site.clock.advance(by: .seconds(1))
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
        await broker.close()
        #expect(try contents(besides: path) == before)
    }

    @Test("A suspension takes the log away, and is no reason to give the file up")
    func suspended() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        for _ in 0..<2 {
            await broker.file?.suspend()
            // The last connection to be closed copies the log.
            _ = try Connection(path: path, mode: .write).pragma("user_version")
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
            site.clock.advance(by: .seconds(2))
            try await broker.file?.resume()
            try await broker.enqueue(Note("b"))
            site.clock.advance(by: .seconds(2))
        }
        try await #expect(broker.actionCount() == 3)
        await broker.close()
    }

    @Test("G6: tables that are erased and made anew between two looks are no longer those of the broker")
    func madeAnew() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        let connection = try Connection(path: path, mode: .write)
        try erase(connection)
        site.clock.advance(by: .milliseconds(1))
        try Migrator().migrate(connection, now: Timestamp(microseconds: site.clock.wallMicroseconds))
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
        #expect(await refusal { try broker.enqueueBlocking(Note("b")) } == .fileReplaced)
        await broker.close()
        let second = try await site.broker()
        try await #expect(second.actionCount() == 0)
        await second.close()
    }

    /// When an older copy is read back, of those that were made before it.
    enum Past: CaseIterable, Sendable { case beforeActions, beforeStart, beforeRenewal }

    @Test(
        "G3, G6: an older copy that is read back into the open file ends the broker",
        arguments: Past.allCases
    )
    func restored(_ past: Past) async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let copy = try TemporaryFile()
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        if past == .beforeActions {
            try readBack(path, into: copy.path)
            try await broker.enqueue(Note("b"))
        }
        if past == .beforeStart { try readBack(path, into: copy.path) }
        let error = await #expect(throws: SluiceError.self) {
            try await running(broker) {
                if past == .beforeRenewal {
                    try readBack(path, into: copy.path)
                    let before = try lease(path)
                    site.clock.advance(by: .seconds(11))
                    try await until { try lease(path) != before }
                }
                try readBack(copy.path, into: path)
                try await broker.enqueue(Note("c"))
            }
        }
        #expect(error?.code == .fileReplaced)
        await broker.close()
    }

    @Test("A change of the application's tables, or a copy that holds everything, ends no broker")
    func sameLife() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            let connection = try Connection(path: path, mode: .write)
            connection.setBusyTimeout(patience)
            try connection.execute("CREATE TABLE own (a)")
            try await broker.enqueue(Note("b"))
            // Nothing has been forgotten over a suspension.
            await broker.file?.suspend()
            try await broker.file?.resume()
            try await broker.enqueue(Note("c"))
            try connection.execute("CREATE TABLE second (a)")
            try await broker.enqueue(Note("d"))
        }
        try await #expect(broker.actionCount() == 4)
        await broker.close()
    }

    @Test("G11: what others enqueue into a copy that cannot be told from the file runs all the same")
    func youngCopy() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let copy = try TemporaryFile()
        let log = EventLog<String>()
        let broker = try await site.broker {
            $0.standFor(process: 1)
            $0.file.watchesWAL = false
            $0.file.foreignChangeInterval = .seconds(1)
        }
        try broker.routeNotes(to: log)
        /// As a process of its own does, which has the file open for this alone.
        @Sendable func enqueue(_ text: String) async throws {
            let other = try await site.broker { $0.standFor(process: 2) }
            try await other.enqueue(Note(text))
            await other.close()
        }
        @Sendable func look(_ seconds: Int) async throws {
            try await site.clock.waitForSleeper(untilUptime: .seconds(seconds))
            site.clock.advance(by: .seconds(1))
        }
        try await running(broker) {
            await broker.waitUntilIdle()
            try readBack(path, into: copy.path)
            try await enqueue("a")
            try await look(1)
            try await #expect(log.wait(forCount: 1) == ["a"])
            await broker.waitUntilIdle()
            try readBack(copy.path, into: path)
            try await enqueue("b")
            try await look(2)
            try await #expect(log.wait(forCount: 2) == ["a", "b"])
        }
        await broker.close()
    }

    @Test("G3, G6: a copy from before this process had claimed what it runs ends the broker")
    func copyWithoutClaim() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let copy = try TemporaryFile()
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        let error = await #expect(throws: SluiceError.self) {
            try await running(broker) {
                try await broker.enqueue(Note("a"))
                try await started.received()
                try readBack(path, into: copy.path)
                let connection = try Connection(path: copy.path, mode: .write)
                try connection.execute("DELETE FROM sluice_claim_rows")
                connection.close()
                try readBack(copy.path, into: path)
                try await broker.enqueue(Note("b"))
            }
        }
        #expect(error?.code == .fileReplaced)
        await broker.close()
    }

    private func lease(_ path: String) throws -> Int64? {
        let connection = try Connection(path: path, mode: .write)
        defer { connection.close() }
        return try connection.prepare("SELECT lease_until_us FROM sluice_runner_rows").first { $0.int64(0) }
    }

    /// Reads one database into another, as the shell's `.restore` does.
    private func readBack(_ source: String, into destination: String) throws {
        let from = try Connection(path: source, mode: .write)
        let to = try Connection(path: destination, mode: .create)
        from.setCheckpointOnClose(false)
        to.setBusyTimeout(.seconds(10))
        to.setCheckpointOnClose(false)
        try from.copy(to: to, pagesAtATime: -1) { _ in }
        from.close()
        to.close()
    }

    @Test("The close leaves alone what stands at the path by then, its log among it")
    func close() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        let other = try TemporaryFile()
        let connection = try Connection(path: other.path, mode: .create)
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        for suffix in ["", "-wal", "-shm"] {
            #expect(rename(other.path + suffix, path + suffix) == 0)
        }
        let before = try contents(besides: path)
        site.clock.advance(by: .seconds(1))
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .fileReplaced)
        await broker.close()
        #expect(try contents(besides: path) == before)
        withExtendedLifetime(connection) {}
    }
}
