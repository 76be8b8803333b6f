import Dispatch
import SluiceSQLite
import SluiceTestKit
import Testing

@testable import Sluice

/// Two processes of which one runs the queues alone for a while.
@Suite("One of two processes runs the queues alone", .timeLimit(.minutes(2))) struct PrimaryTests {
    /// Two stores of this process on one file, which stand for two processes.
    private func stores(
        hasResetBug: Bool = false,
        clock: ManualClock = ManualClock()
    ) async throws -> (a: StoreFixture, b: StoreFixture) {
        let file = try TemporaryFile()
        let long: (inout BrokerOptions) -> Void = {
            $0.leases.primary = .seconds(3_600)
            $0.hasResetBug = hasResetBug
        }
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
        let found = try #require(await b.store.primaryTimeLeft())
        #expect(found <= left)
        // To itself it is not another.
        #expect(a.store.runners.primaryTimeLeft == nil)
        #expect(await a.store.primaryTimeLeft() == nil)
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
        #expect(await b.store.primaryTimeLeft() == nil)
        b.store.runners.askToBePrimary()
        try await b.store.add("3")
        #expect(try a.row(primaries) == "2")
        #expect(b.store.runners.primaryTimeLeft == nil)
    }

    @Test("What the file does not tell, the writer knows")
    func unreadable() async throws {
        let (a, b) = try await stores()
        a.store.runners.askToBePrimary()
        try await a.store.add("1")
        try await b.store.takeInForeignChanges()
        await b.store.lookout?.suspend()
        #expect(await b.store.primaryTimeLeft() != nil)
        try a.execute("UPDATE sluice_runner_rows SET primary_until_boot_us = 5")
        try await b.store.takeInForeignChanges()
        #expect(await b.store.primaryTimeLeft() == nil)
    }

    @Test("A commit that changes nothing leaves it to the next, and a new start forgets that it was asked")
    func asksWithChanges() async throws {
        let (a, _) = try await stores()
        let primaries = "SELECT count(*) FROM sluice_runner_rows WHERE primary_until_boot_us > 0"
        a.store.runners.askToBePrimary()
        try await a.store.takeInForeignChanges()
        #expect(try a.row(primaries) == "0")
        try await a.store.add("1")
        #expect(try a.row(primaries) == "1")
        a.store.runners.askToBePrimary()
        try await a.store.startRunning()
        try await a.store.add("2")
        #expect(try a.row(primaries) == "0")
    }

    @Test("The primary sees to the log")
    func lease() async throws {
        let (a, b) = try await stores(hasResetBug: true)
        let checkpointers = "SELECT group_concat(pid) FROM sluice_checkpointer"
        for (fixture, pid) in [(a, "1"), (b, "2")] {
            try a.execute("UPDATE sluice_runner_rows SET primary_until_boot_us = 5")
            fixture.store.runners.askToBePrimary()
            try await fixture.store.add("1")
            #expect(try a.row(checkpointers) == pid)
        }
    }

    @Test("G12: who commits much beside another one copies the log, and has that one let its pin go")
    func busy() async throws {
        let (a, b) = try await stores(hasResetBug: true)
        try await b.store.add("1")
        try await a.store.takeInForeignChanges()
        // What changes nothing does not count.
        for _ in 1...CheckpointLease.busy { try await b.store.takeInForeignChanges() }
        for _ in 1...CheckpointLease.busy {
            try await a.store.write(sync: .later) { try $0.writeBarrier() }
        }
        #expect(try a.row("SELECT group_concat(pid) FROM sluice_checkpointer") == "1")
        #expect(try a.rows("SELECT change FROM sluice_changes") == ["runner"])
        try await b.store.takeInForeignChanges()
        try await a.store.copyPinnedLog()
        #expect(!a.store.isLogPinned)
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
        #expect(await b.store.primaryTimeLeft() == nil)
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

    @Test("G15: SQL tells which process is the primary, and for how long it is")
    func shown() async throws {
        // The views ask the machine's clock.
        let (a, b) = try await stores(clock: ManualClock(wallMicroseconds: SystemClock().wallMicroseconds))
        let shown = "SELECT group_concat(pid || ' ' || is_primary, ', ') FROM sluice_runners"
        #expect(try b.row(shown) == "1 0, 2 0")
        a.store.runners.askToBePrimary()
        try await a.store.add("1")
        #expect(try b.row(shown) == "1 1, 2 0")
        try a.execute("UPDATE sluice_runner_rows SET primary_until_boot_us = 5")
        #expect(try b.row(shown) == "1 0, 2 0")
        // Where the system does not tell the time since the machine's start, there is no primary.
        try a.execute("UPDATE sluice_runner_rows SET lease_until_boot_us = NULL")
        #expect(try b.row(shown) == "1 0, 2 0")
    }

    /// A broker that stands for a process of its own.
    private func broker(
        _ pid: Int64,
        _ site: Site,
        adjust: (inout BrokerOptions) -> Void = { _ in }
    ) async throws -> Broker {
        try await site.broker { options in
            options.standFor(process: pid)
            options.watchesLog = false
            // However slow the machine is, it is not over before it is looked at.
            options.leases.primary = .seconds(3_600)
            // Nothing else is to be written meanwhile, by which the writer would find out.
            (options.leases.length, options.leases.renewal) = (.seconds(86_400), .seconds(86_400))
            adjust(&options)
        }
    }

    @Test("A broker with more queues than permits and handlers that do nothing becomes it beside others")
    func becomes() async throws {
        let site = try Site()
        // So that few have begun when one has returned.
        let handlers = DispatchQueue(label: "test.handlers")
        let a = try await broker(1, site) {
            $0.concurrency = 8
            $0.handlerExecutor = DispatchExecutor(handlers)
        }
        let b = try await broker(2, site)
        try await b.store.startRunning()
        // As many outcomes in a window as there are permits, and a little.
        let pace = PrimaryPlan.window / 8 - .microseconds(100)
        try a.route("*", Note.self) { _, _ in
            site.clock.advance(by: pace)
            return .success
        }
        try await a.enqueue((0..<640).map { Note("\($0)", in: QueueName("q/\($0 % 64)")) })
        try await running(a) {
            await a.waitUntilIdle()
            #expect(await b.store.primaryTimeLeft() != nil)
        }
        #expect(a.statistics.succeeded == 640)
        await a.close()
        await b.close()
    }

    @Test("G15: a broker that starts beside a primary stands by from the start")
    func starts() async throws {
        let site = try Site()
        let (a, b, c) = (try await broker(1, site), try await broker(2, site), try await broker(3, site))
        let looking = try await broker(4, site)
        for other in [a, c] { try await other.store.startRunning() }
        try await a.store.takeInForeignChanges()
        a.store.runners.askToBePrimary()
        try await a.enqueue(Note("1"))
        let log = EventLog<String>()
        try b.routeNotes(to: log)
        try await running(b) {
            try await until { b.hasLookedAround }
            let standing = try await b.status(of: "notes").because
            // Who only looks does not name those that stand by either.
            let seen = try await looking.status(of: "notes").because
            try site.shell("UPDATE sluice_runner_rows SET primary_until_boot_us = 1")
            site.clock.advance(by: .seconds(3_600))
            _ = try await log.wait(forCount: 1)
            #expect(standing == [.owned(process: 1)])
            #expect(seen == [.owned(process: 1)])
        }
        for broker in [a, b, c, looking] { await broker.close() }
    }

    @Test("G11, G12: what a broker was told of while it stood by runs when the term is over")
    func overlooks() async throws {
        let site = try Site()
        let a = try await broker(1, site)
        let b = try await broker(2, site) { $0.concurrency = 2 }
        let log = EventLog<String>()
        try b.routeNotes(to: log)
        try await running(a) {
            try await running(b) {
                try await until { b.hasLookedAround && a.hasLookedAround && b.store.runners.hasOthers }
                a.store.runners.askToBePrimary()
                let texts = (1...20).map { "\($0)" }
                for text in texts { try await a.enqueue(Note(text, in: QueueName("q/\(text)"))) }
                try await b.store.takeInForeignChanges()
                let standing = try await b.statuses().map(\.because)
                try site.shell("UPDATE sluice_runner_rows SET primary_until_boot_us = 1")
                site.clock.advance(by: .seconds(3_600))
                _ = try await log.wait(forCount: 20)
                #expect(log.elements.sorted() == texts.sorted())
                #expect(standing == Array(repeating: [.owned(process: 1)], count: 20))
                await b.waitUntilIdle()
            }
        }
        await a.close()
        await b.close()
    }

    @Test("G15: a broker stands by, says for whom, and goes on when the term is over, or that one stops")
    func standsBy() async throws {
        let site = try Site()
        let (a, b) = (try await broker(1, site), try await broker(2, site))
        let log = EventLog<String>()
        // The primary has no route, or it would run them itself.
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
