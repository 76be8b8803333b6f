#if CommandLineTool
import Foundation
import SluiceSQLite
import SluiceTestKit
import Subprocess
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Payloads that are erased", .watched(minutes: 3)) struct ErasureTests {
    private static let canary = "CANARY8812"

    /// Text of about so many bytes, with the word in all of its parts.
    private static func text(_ byteCount: Int) -> String {
        String(repeating: canary + ".", count: max(byteCount / 11, 1))
    }

    /// Whether the word stands in a file, as another program reads it.
    ///
    /// To open a database's file in this process would drop SQLite's locks on it.
    private func holdsWord(_ path: String) async throws -> Bool {
        let result = try await Subprocess.run(
            .name("grep"),
            arguments: ["-a", "-c", "-F", Self.canary, path],
            output: .string(limit: 1_024)
        )
        // 1: it was not found.
        #expect([.exited(0), .exited(1)].contains(result.terminationStatus))
        return result.terminationStatus == .exited(0)
    }

    private func walByteCount(_ site: Site) throws -> Int? {
        DatabaseFile.byteCount(of: try #require(site.file).path + "-wal")
    }

    /// Enqueues payloads of many sizes, in queues of which each ends its actions in another way.
    private func fill(_ broker: Broker) async throws {
        for round in 0..<8 {
            var notes: [Note] = []
            for byteCount in [11, 60, 600, 2_000, 3_900, 4_100, 9_000, 70_000] {
                for queue in ["settled", "failed", "cancelled", "edited", "taken", "deleted"] {
                    notes.append(Note("\(round) \(Self.text(byteCount))", in: QueueName(queue)))
                }
            }
            try await broker.enqueue(notes)
        }
    }

    /// Has all of it leave the file, one way or another.
    private func drain(_ broker: Broker) async throws {
        for summary in try await broker.actionSummaries(limit: 10_000) where summary.queue == "edited" {
            try await broker.edit(summary.id, to: Note("clean"))
        }
        try await broker.cancel(queues: "cancelled")
        while try await broker.queue("taken", of: Note.self).removeNext() != nil {}
        let handle = broker.queue("deleted", of: Note.self)
        try await handle.clear()
        try broker.route("failed", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        try broker.route("*", Note.self) { _, attempt in
            attempt.number == 1 && attempt.id.rawValue.isMultiple(of: 5) ? .retry(after: .zero) : .success
        }
    }

    @Test("Nothing of a payload is left in the file or its log within a second of its end, while it is open")
    func erased() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker { $0.file.erasesPayloads = true }
        try await fill(broker)
        try await drain(broker)
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.purgeDeadLetters()
            try await #expect(broker.actionSummaries().isEmpty)
            try await #expect(broker.deadLetters().isEmpty)
            // The last commit's second.
            site.clock.advance(by: .seconds(1))
            try await until { try await !holdsWord(path + "-wal") }
            let database = try await holdsWord(path)
            #expect(!database)
            // The free pages that they stood on are there still.
            try await #expect(
                broker.fileEngine.store.read { try $0.pragma("freelist_count") } != "0"
            )
        }
        await broker.close()
        try await #expect(!holdsWord(path))
    }

    @Test("Before the log is cut, and in a file that erases nothing, the same search finds them")
    func control() async throws {
        for erases in [true, false] {
            let site = try Site()
            let path = try #require(site.file).path
            let broker = try await site.broker { $0.file.erasesPayloads = erases }
            try await fill(broker)
            try await drain(broker)
            for queue: QueueName in ["settled", "failed", "edited"] {
                try await broker.cancel(queues: QueuePattern(queue.rawValue))
            }
            try await #expect(broker.actionCount() == 0)
            try await #expect(holdsWord(path + "-wal"))
            try await #expect(#require(broker.file).truncateWAL())
            #expect(try walByteCount(site) == 0)
            try await #expect(holdsWord(path) == !erases)
            await broker.close()
            try await #expect(holdsWord(path) == !erases)
        }
    }

    @Test("A reader keeps the log: the broker says so, and cuts it when the reader has gone")
    func reader() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker {
            $0.file.erasesPayloads = true
            $0.file.lockTimeout = .zero
        }
        try await broker.enqueue(Note(Self.text(5_000)))
        let reader = try Application(site)
        try reader.execute("BEGIN; SELECT count(*) FROM sluice_actions")
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(!#require(broker.file).truncateWAL())
            try await #expect(holdsWord(path + "-wal"))
            try reader.execute("ROLLBACK")
            try await until {
                site.clock.advance(by: .milliseconds(500))
                return try await !holdsWord(path + "-wal")
            }
            let left = try await holdsWord(path)
            #expect(!left)
        }
        await broker.close()
    }

    @Test("With another process on the file, a close leaves nothing in the log that stays")
    func close() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker { $0.file.erasesPayloads = true }
        let other = try Connection(path: path, mode: .write)
        _ = try other.pragma("page_count")
        let id = try await broker.enqueue(Note(Self.text(5_000))).id
        try await #expect(broker.cancel(id) == .removed)
        try await #expect(holdsWord(path + "-wal"))
        await broker.close()
        let log = try await holdsWord(path + "-wal")
        let database = try await holdsWord(path)
        #expect(!log && !database)
        other.close()
    }

    @Test("The log of a process that died is cut when the queues run again")
    func leftLog() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let first = try await site.broker()
        try await first.enqueue(Note("clean"))
        let copy = try Site()
        let copyPath = try #require(copy.file).path
        let id = try await first.enqueue(Note(Self.text(5_000))).id
        try await #expect(first.cancel(id) == .removed)
        // What a kill leaves.
        for suffix in ["", "-wal"] {
            let result = try await Subprocess.run(
                .name("cp"),
                arguments: [path + suffix, copyPath + suffix],
                output: .discarded
            )
            #expect(result.terminationStatus == .exited(0))
        }
        try await #expect(holdsWord(copyPath + "-wal"))
        let second = try await copy.broker { $0.file.erasesPayloads = true }
        try await running(second) {
            // A try that another connection is in the way of is followed by the next.
            try await until {
                copy.clock.advance(by: .milliseconds(500))
                return try walByteCount(copy) == 0
            }
        }
        await second.close()
        await first.close()
    }

    @Test("An interval that is not positive is refused")
    func interval() async throws {
        let error = await #expect(throws: SluiceError.self) {
            _ = try await Site().broker { $0.file.walTruncationInterval = .zero }
        }
        #expect(error?.code == .invalidOptions)
    }
}
#endif
