import SQLite
import SluiceTestKit
import Testing

@testable import Sluice

/// Two processes of which one runs the queues alone for a while.
@Suite("One of two processes runs the queues alone", .timeLimit(.minutes(2))) struct PrimaryTests {
    /// Two stores of this process on one file, which stand for two processes.
    private func stores() async throws -> (a: StoreFixture, b: StoreFixture) {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let long: (inout BrokerOptions) -> Void = { $0.leases.primary = .seconds(3_600) }
        let a = try await StoreFixture.process(1, on: file, clock: clock, adjust: long)
        let b = try await StoreFixture.process(2, on: file, clock: clock, adjust: long)
        try await a.store.takeInForeignChanges()
        return (a, b)
    }

    /// What a store has told of a primary since the last call.
    private func news(_ fixture: StoreFixture) async throws -> Bool {
        let count = fixture.commits.elements.count
        try await fixture.store.takeInForeignChanges()
        return fixture.commits.elements.dropFirst(count).contains { $0.runnerChanges.contains(.primary) }
    }

    @Test("Who asks becomes it with the next commit, and the other learns of it with its own")
    func asks() async throws {
        let (a, b) = try await stores()
        a.store.runners.askToBePrimary()
        #expect(try a.row("SELECT max(primary_until_boot_us) IS NULL FROM sluice_runner_rows") == "1")
        try await a.store.add("1")
        let primaries = "SELECT group_concat(pid) FROM sluice_runner_rows WHERE primary_until_boot_us > 0"
        #expect(try a.row(primaries) == "1")
        #expect(b.store.runners.primaryTimeLeft == nil)
        #expect(try await news(b))
        let left = try #require(b.store.runners.primaryTimeLeft)
        #expect(left <= .seconds(3_600))
        // To itself it is not another.
        #expect(a.store.runners.primaryTimeLeft == nil)
        #expect(try await a.store.primaryTimeLeft() == nil)
    }

    @Test("A second one asks in vain, until the term is over")
    func second() async throws {
        let (a, b) = try await stores()
        a.store.runners.askToBePrimary()
        try await a.store.add("1")
        b.store.runners.askToBePrimary()
        try await b.store.add("2")
        let primaries = "SELECT group_concat(pid) FROM sluice_runner_rows WHERE primary_until_boot_us > 5"
        #expect(try a.row(primaries) == "1")
        try a.execute("UPDATE sluice_runner_rows SET primary_until_boot_us = 5")
        #expect(try await b.store.primaryTimeLeft() == nil)
        b.store.runners.askToBePrimary()
        try await b.store.add("3")
        #expect(try a.row(primaries) == "2")
        #expect(b.store.runners.primaryTimeLeft == nil)
    }

    @Test("Nobody asks who is alone")
    func alone() async throws {
        let file = try TemporaryFile()
        let a = try await StoreFixture.process(1, on: file, clock: ManualClock())
        a.store.runners.askToBePrimary()
        try await a.store.add("1")
        #expect(try a.row("SELECT max(primary_until_boot_us) IS NULL FROM sluice_runner_rows") == "1")
    }

    @Test("A term that claims to be longer than any is none", arguments: [Int64.max, .min, nil])
    func foreignTerms(_ end: Int64?) async throws {
        let (a, b) = try await stores()
        let uptime = try #require(ProcessIdentity.machineUptime)
        let value = end ?? (uptime + .seconds(7_200)).wholeMicroseconds
        try a.execute("UPDATE sluice_runner_rows SET primary_until_boot_us = \(value) WHERE pid = 1")
        #expect(try await !news(b))
        #expect(b.store.runners.primaryTimeLeft == nil)
        #expect(try await b.store.primaryTimeLeft() == nil)
        b.store.runners.askToBePrimary()
        try await b.store.add("1")
        let own = try b.row("SELECT primary_until_boot_us FROM sluice_runner_rows WHERE pid = 2")
        #expect(try #require(Int64(own)) > uptime.wholeMicroseconds)
    }

    @Test("What a roll-back has taken back is told again")
    func rolledBack() async throws {
        let (a, b) = try await stores()
        a.store.runners.askToBePrimary()
        try await a.store.add("1")
        await #expect(throws: (any Error).self) {
            try await b.store.write(sync: .later) { _ in throw SluiceError(.storage, "a test") }
        }
        #expect(try await news(b))
    }

    @Test("One that stops is it no more, and the other is told")
    func stops() async throws {
        let (a, b) = try await stores()
        a.store.runners.askToBePrimary()
        try await a.store.add("1")
        #expect(try await news(b))
        try await a.store.stopRunning()
        #expect(try await news(b))
        #expect(b.store.runners.primaryTimeLeft == nil)
    }

    @Test("G15: a broker stands by, says for whom, and goes on when the term is over, or that one stops")
    func standsBy() async throws {
        let site = try Site()
        func broker(_ pid: Int64) async throws -> Broker {
            try await site.broker { options in
                options.standFor(process: pid)
                options.watchesLog = false
                // However slow the machine is, it is not over before it is looked at.
                options.leases.primary = .seconds(3_600)
            }
        }
        let (a, b) = (try await broker(1), try await broker(2))
        let log = EventLog<String>()
        // The primary has no route here: it would have run them.
        try b.routeNotes(to: log)
        for ends in [false, true] {
            let run = Task { try await a.run() }
            try await running(b) {
                try await until { b.hasLookedAround && a.hasLookedAround && b.store.runners.hasOthers }
                a.store.runners.askToBePrimary()
                try await a.enqueue(Note("\(ends)"))
                try await b.store.takeInForeignChanges()
                let standing = try await b.status(of: "notes").because
                if ends {
                    try site.shell("UPDATE sluice_runner_rows SET primary_until_boot_us = 1")
                    site.clock.advance(by: .seconds(3_600))
                } else {
                    await a.stop()
                    try await b.store.takeInForeignChanges()
                }
                _ = try await log.wait(forCount: ends ? 2 : 1)
                #expect(standing == [.owned(process: 1)])
            }
            await a.stop()
            try await run.value
        }
        await a.close()
        await b.close()
    }
}
