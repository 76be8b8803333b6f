import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Expiry", .watched) struct ExpiryTests {
    private func end(_ site: Site, in seconds: Int) -> EnqueueOptions {
        EnqueueOptions(expiresAt: (site.clock.now + .seconds(seconds)).date)
    }

    @Test("A head that has expired is set aside and not run", arguments: QueueStorage.allCases)
    func head(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let id = try await broker.enqueue(Note("a"), end(site, in: 10)).id
        try await broker.enqueue(Note("b"), end(site, in: 20))
        site.clock.advance(by: .seconds(10))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["b"])
        let letter = try #require(await broker.deadLetters().first)
        #expect(letter.id == id && letter.cause == .expired && letter.attempts == 0)
        await broker.close()
    }

    @Test("What expires behind a head that runs is swept at its time, whatever its place")
    func sweepBehind() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await go.received()
            return .success
        }
        try await running(broker) {
            // The head has an end too, and is not touched while it runs.
            try await broker.enqueue(Note("a"), end(site, in: 5))
            let ids = try await broker.enqueue([Note("b"), Note("c")], end(site, in: 5))
            try await broker.enqueue(Note("d"), end(site, in: 7))
            try await broker.enqueue(Note("e"))
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            try await until { try await broker.deadLetters().count == 2 }
            try await #expect(Set(broker.deadLetters(cause: .expired).map(\.id)) == Set(ids))
            #expect(log.elements == ["a"])
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "d", "e"])
        await broker.close()
    }

    @Test("A head that waits for a retry, or is scheduled, is swept when its end comes before its time")
    func waiting() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return note.text == "a" ? .retry(after: .seconds(1_000)) : .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"), end(site, in: 5))
            var scheduled = end(site, in: 5)
            scheduled.notBefore = (site.clock.now + .seconds(500)).date
            try await broker.enqueue(Note("s"), scheduled)
            try await broker.enqueue(Note("b"))
            try await until { broker.statistics.retried == 1 }
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        try await #expect(broker.deadLetters(cause: .expired).map(\.attempts).sorted() == [0, 1])
        await broker.close()
    }

    @Test("With a policy that blocks, what expires stays until it is the head, and parks the queue then")
    func block() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.block))) { note, _ in
            log.append(note.text)
            try await go.received()
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            let id = try await broker.enqueue(Note("b"), end(site, in: 5)).id
            try await broker.enqueue(Note("c"))
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            // The sweep has been there when it waits for what ends next: nothing does.
            try await broker.file?.flush()
            try await #expect(broker.deadLetters().isEmpty)
            go.send()
            try await until { try await broker.status(of: "notes").state == .parked }
            #expect(log.elements == ["a"])
            try await #expect(broker.skipHead(of: "notes") == .skipped(id))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "c"])
        await broker.close()
    }

    @Test("G4: a head that waits at a closed gate parks its queue when its end comes")
    func blockAtGate() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        try broker.route("*", Note.self, RouteOptions(failure: .all(.block))) { _, _ in .success }
        try await running(broker) {
            var options = end(site, in: 5)
            options.gate = "network"
            try await broker.enqueue(Note("a"), options)
            await broker.waitUntilIdle()
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            try await until { try await broker.status(of: "notes").state == .parked }
        }
        #expect(broker.statistics.started == 0)
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("A sweep goes in batches and leaves an action that has parked its queue to the operator")
    func batches() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let time = fixture.clock.now + .seconds(1)
        let extras = DraftExtras(expiresAt: time)
        let ids = try await store.enqueue(
            (0..<1_200).map { ActionDraft("\($0)", in: "q/\($0 % 3)", extras: extras) }
        )
        let action = try await store.take("q/0")
        try await store.settle(action, .fail(.failed, .block, error: "e"))
        fixture.clock.advance(by: .seconds(1))
        let now = fixture.clock.now
        var table = RouteTable()
        for (pattern, policy) in [("q/1", .block), ("*", .skip)] as [(QueuePattern, FailurePolicy)] {
            let options = RouteOptions(failure: .all(policy))
            try table.add(.pattern(pattern), kinds: [nil], options: options) { _, _ in .outcome(.success) }
        }
        let admission = table.admission
        var rounds = 0
        while try await store.sweep(admission) == now { rounds += 1 }
        #expect(rounds == 2)
        let dead = try await store.deadLetters(limit: 2_000).map(\.id)
        #expect(
            Set(dead) == Set(ids.enumerated().filter { $0.offset % 3 != 1 && $0.offset > 0 }.map(\.element))
        )
        #expect(try await store.actionCount() == 401)
        #expect(try await store.claim("q/0").word == "parked")
        // Another look finds nothing to do, and neither does one for an operator's edit that is not over.
        #expect(try await store.sweep(Admission(failure: .all(.skip))) == nil)
        #expect(try await store.actionCount() == 401)
        // An end that is set to what has passed brings the sweep back.
        #expect(try await store.setExpiry(ids[1], now + .seconds(-5)) == .done)
        #expect(try await store.sweep(Admission(failure: .all(.skip))) == nil)
        #expect(try await store.actionCount() == 1)
    }

    @Test("G9: what has expired and cannot be written holds up the end of no other")
    func unwritable() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let extras = DraftExtras(expiresAt: fixture.clock.now + .seconds(1))
        let ids = try await store.enqueue(
            ["a", "b", "c"].map { ActionDraft($0, in: "q/\($0)", extras: extras) }
        )
        try fixture.execute(
            """
            CREATE TRIGGER planted BEFORE DELETE ON sluice_action_rows WHEN old.id = \(ids[0])
            BEGIN SELECT RAISE(ABORT, 'planted'); END
            """
        )
        fixture.clock.advance(by: .seconds(1))
        #expect(await refusal { try await store.sweep(Admission(failure: .all(.skip))) } != nil)
        try await #expect(store.deadLetters(limit: 10).isEmpty)
        // The broker comes back within a second.
        #expect(try await store.sweep(Admission(failure: .all(.skip))) == nil)
        try await #expect(store.deadLetters(limit: 10).map(\.id).sorted() == ids[1...].sorted())
        try fixture.execute("DROP TRIGGER planted")
        // It is the head: that is when its end is seen to.
        #expect(try await store.claim("q/a", by: Admission(failure: .all(.skip))).word == "empty")
        try await #expect(store.deadLetters(limit: 10).count == 3)
    }

    @Test("Only who runs the queues sweeps", arguments: [true, false])
    func runner(_ isRunning: Bool) async throws {
        let fixture = try await StoreFixture(isRunning: isRunning)
        let extras = DraftExtras(expiresAt: fixture.clock.now)
        _ = try await fixture.store.enqueue([ActionDraft("a", extras: extras)])
        #expect(try await fixture.store.sweep(Admission(failure: .all(.skip))) == nil)
        #expect(try await fixture.store.actionCount() == (isRunning ? 0 : 1))
    }

    @Test("G11: an end that another connection has set is seen to")
    func foreign() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let go = Signal()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await go.received()
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            let id = try await broker.enqueue(Note("b")).id
            _ = try await log.wait(forCount: 1)
            try site.shell("UPDATE sluice_actions SET expires_at = 5 WHERE id = \(id)")
            try await until { try await broker.deadLetters(cause: .expired).map(\.id) == [id] }
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a"])
        await broker.close()
    }
}
