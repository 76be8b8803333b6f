import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Shells that stay inside a transaction for longer than the broker waits for a lock.
@Suite("Shells in the way", .serialized, .watched(minutes: 4))
struct SQLLockTests {
    /// What keeps the write lock.
    enum Way: String, CaseIterable {
        /// A statement of it stands in the log and is not committed.
        case pendingWrite
        case exclusive

        fileprivate var sql: String {
            switch self {
            case .exclusive: "BEGIN EXCLUSIVE;"
            case .pendingWrite:
                "BEGIN; INSERT INTO sluice_actions (queue, kind, payload) VALUES ('notes', 'note', '{}');"
            }
        }
    }

    enum Ending: String, CaseIterable { case commit, rollback, kill }

    private func end(_ shell: OpenShell, _ ending: Ending) async throws {
        switch ending {
        case .commit: try await shell.run("COMMIT;")
        case .rollback: try await shell.run("ROLLBACK;")
        case .kill: shell.die()
        }
    }

    /// A broker that soon gives up waiting for a lock, and looks at the file each second of its clock.
    private func broker(_ site: Site) async throws -> Broker {
        try await site.broker {
            $0.file.lockTimeout = .milliseconds(20)
            $0.file.foreignChangeInterval = .seconds(1)
        }
    }

    /// Lets seconds of the broker's clock go by until a condition holds.
    private func passing(_ site: Site, _ condition: @Sendable () async throws -> Bool) async throws {
        try await until {
            if try await condition() { return true }
            site.clock.advance(by: .seconds(1))
            return false
        }
    }

    /// Says what the library tells of a shell that holds the write lock.
    private func expectNamed(_ shell: OpenShell, _ broker: Broker) async throws {
        let health = try await broker.fileEngine.store.health()
        let since = try #require(health.lockedSince)
        let status = try await broker.status(of: "notes")
        #if os(Linux)
        #expect(health.lockHolders == [shell.processIdentifier])
        #expect(status.because.last == .locked(since: since, by: [shell.processIdentifier]))
        #else
        #expect(status.because.last == .locked(since: since, by: []))
        #endif
        // What runs still counts as running: its slot is not free before its outcome is written.
        #expect(status.state == .running && status.depth == 2)
    }

    @Test(
        "G1, G3, G6, G14, G15: a shell that keeps the write lock is named, and nothing is lost or doubled",
        arguments: Way.allCases,
        Ending.allCases
    )
    func writeLock(_ way: Way, _ ending: Ending) async throws {
        let site = try Site()
        let broker = try await broker(site)
        let path = try #require(site.file).path
        let (log, go) = (EventLog<String>(), Signal())
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            if note.text == "first" { await go.receivedInAnyCase() }
            return .success
        }
        try await running(broker) {
            defer { go.send() }
            try await broker.enqueue([Note("first"), Note("second")])
            _ = try await log.wait(forCount: 1)
            try await OpenShell.with(path) { shell in
                try await shell.run(way.sql)
                await #expect(refusal { try await broker.enqueue(Note("refused")) } == .databaseLocked)
                await #expect(refusal { try broker.enqueueBlocking(Note("refused")) } == .databaseLocked)
                // The handler returns, and its outcome cannot be written.
                go.send()
                try await passing(site) { try await broker.fileEngine.store.health().lockedSince != nil }
                let since = try await broker.fileEngine.store.health().lockedSince
                for _ in 0..<40 {
                    site.clock.advance(by: .seconds(1))
                    await #expect(refusal { try await broker.file?.flush() } == .databaseLocked)
                }
                try await expectNamed(shell, broker)
                try await #expect(broker.fileEngine.store.health().lockedSince == since)
                #expect(log.elements == ["first 1"])
                try await end(shell, ending)
            }
            // Nobody does anything: it goes on by itself.
            try await passing(site) { try await broker.actionCount() == (way.leaves(ending) ? 1 : 0) }
            try await passing(site) { try await broker.fileEngine.store.health().lockedSince == nil }
            #expect(log.elements == ["first 1", "second 1"])
            try await broker.enqueue(Note("after", in: "another"))
            _ = try await log.wait(forCount: 3)
        }
        #expect(log.elements.last == "after 1")
        try await #expect(broker.fileEngine.store.health().lockHolders.isEmpty)
        let statistics = broker.statistics
        #expect(statistics.succeeded == 3 && statistics.staleCompletions == 0 && statistics.retried == 0)
        #expect(try site.rows("PRAGMA integrity_check") == ["ok"])
        await broker.close()
    }

    @Test(
        "G12, G15: a shell that keeps a snapshot holds nobody up and is named; then the log is cut",
        arguments: [Ending.commit, .kill]
    )
    func snapshot(_ ending: Ending) async throws {
        let site = try Site()
        let broker = try await broker(site)
        let path = try #require(site.file).path
        let log = EventLog<String>()
        try broker.routeNotes("notes", to: log)
        let count = "SELECT count(*) FROM sluice_actions;"
        try await running(broker) {
            try await broker.enqueue(Note("kept", in: "unrouted"))
            try await OpenShell.with(path) { shell in
                try await #expect(shell.run("BEGIN; \(count)") == ["1"])
                // More than the log is cut to.
                for _ in 0..<18 {
                    _ = try site.rows(
                        """
                        INSERT INTO sluice_actions (queue, kind, payload)
                        VALUES ('unrouted', 'note', json_object('text', hex(zeroblob(2000000))))
                        """
                    )
                }
                try await broker.enqueue(Note("runs"))
                _ = try await log.wait(forCount: 1)
                try await passing(site) { try await broker.fileEngine.store.health().pinnedPageCount > 0 }
                let health = try await broker.fileEngine.store.health()
                #expect(health.walByteCount > DatabaseFile.journalSizeLimit)
                #expect(health.lockedSince == nil)
                #if os(Linux)
                #expect(health.readers == [shell.processIdentifier])
                #endif
                // Tries to copy it change nothing, neither for the broker nor for the shell.
                for _ in 0..<5 {
                    site.clock.advance(by: .seconds(1))
                    try await broker.file?.flush()
                }
                try await #expect(broker.fileEngine.store.health().pinnedPageCount > 0)
                try await #expect(shell.run(count) == ["1"])
                try await end(shell, ending)
            }
            // Nobody enqueues, and nothing is to be run.
            try await passing(site) {
                let health = try await broker.fileEngine.store.health()
                return health.pinnedPageCount == 0 && health.walByteCount <= DatabaseFile.journalSizeLimit
            }
            try await #expect(broker.fileEngine.store.health().readers.isEmpty)
        }
        try await #expect(broker.actionCount() == 19)
        #expect(try site.rows("PRAGMA integrity_check") == ["ok"])
        await broker.close()
    }

    @Test("G14: a broker opens beside a shell that holds the write lock, and runs when it has gone")
    func start() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        try await openAndClose(path)
        let broker = try await OpenShell.with(path) { shell in
            try await shell.run("BEGIN EXCLUSIVE;")
            let opened = try await self.broker(site)
            await #expect(refusal { try await opened.run() } == .databaseLocked)
            try await #expect(opened.status(of: "notes").state == .empty)
            return opened
        }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a"))
        // Not until it is idle: behind a run that has thrown that is so at once.
        try await running(broker) { try await #expect(log.wait(forCount: 1) == ["a"]) }
        await broker.close()
    }
}

extension SQLLockTests.Way {
    /// Whether its action is in the file when the shell has ended like this; it does not decode, and stays.
    fileprivate func leaves(_ ending: SQLLockTests.Ending) -> Bool {
        self == .pendingWrite && ending == .commit
    }
}
