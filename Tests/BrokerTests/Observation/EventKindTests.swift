import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Kinds of events that only some acts bring about, as each commit tells them.
@Suite("Kinds of events", .watched) struct EventKindTests {
    private func lines(_ fixture: StoreFixture) -> [String] {
        fixture.commits.elements.flatMap(\.events).map { ObservedEvent.event($0).line }
            .filter { !$0.hasPrefix("enqueued") && !$0.hasPrefix("started") }
    }

    @Test("What is set aside is told with what follows and why: expired, skipped, behind another")
    func setAside() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        let extras = DraftExtras(expiresAt: fixture.clock.now + .seconds(1))
        try await store.add([ActionDraft("swept", extras: extras), ActionDraft("skipped"), ActionDraft("a")])
        try await store.add("b")
        fixture.clock.advance(by: .seconds(1))
        _ = try await store.sweep(Admission(failure: .all(.skip)))
        #expect(try await store.skipHead(of: "q", error: "by hand") == .skipped(ActionID(rawValue: 2)))
        try await store.settle(try await store.take(), .fail(.failed, .failQueue, error: "e"))
        let error = Expiry.expiredError
        #expect(
            lines(fixture) == [
                "expired q 1 note '\(error)' expired/skip", "deadLettered q 1 note '\(error)' expired",
                "deadLettered q 2 note 'by hand' skipped",
                "failed q 3 note #1 'e' failed/failQueue", "deadLettered q 3 note 'e' failed",
                "deadLettered q 4 note 'e' behind",
            ]
        )
    }

    @Test("A head that has expired is told once, whatever its policy", arguments: FailurePolicy.allCases)
    func expiredHead(_ policy: FailurePolicy) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        try await store.add([ActionDraft("a", extras: DraftExtras(expiresAt: fixture.clock.now))])
        _ = try await store.claim(by: Admission(failure: .all(policy)))
        var expected = ["expired q 1 note '\(Expiry.expiredError)' expired/\(policy.rawValue)"]
        if policy != .block {
            expected += ["deadLettered q 1 note '\(Expiry.expiredError)' expired", "idle q"]
        }
        #expect(lines(fixture) == expected)
    }

    @Test("G15: a head that is blocked is told with what it cannot run for")
    func blocked() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        try await store.add("a")
        for hasRoute in [false, true] { _ = try await store.claim(by: hasRoute ? .forOthers : .none) }
        _ = try await store.claim(by: Admission(gates: ["network"]))
        let events = fixture.commits.elements.flatMap(\.events).filter { $0.kind == .blocked }
        #expect(events.map(\.because) == [.noRoute, .unknownKind, .gate("network")])
        #expect(events.map(\.gate) == [nil, nil, "network"])
    }

    @Test("A release, a stop, a move and the end of waits are told, in the order of commits")
    func released() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        let id = try await store.add("a")
        try await store.settle(try await store.take(), .release(after: .seconds(5)))
        #expect(try await store.retryNow(.exact("q")) == 1)
        try await store.settle(try await store.take(), .stop)
        #expect(try await store.move(id, to: "x") == .done)
        let again = try await store.take("x")
        #expect(try await store.move(id, to: "y") == .deferred)
        try await store.settle(again, .retry(after: .seconds(5), error: "e"))
        #expect(
            lines(fixture) == [
                "released q 1 note #1 after 5.0 seconds", "changed q 1 note", "released q 1 note #1",
                "moved q 1 note to x", "retrying x 1 note #1 'e' after 5.0 seconds", "moved x 1 note to y",
            ]
        )
    }

    @Test("That an action has become due, and that its queue is no longer parked, are told with the action")
    func changed() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        let id = try await store.add("a")
        #expect(try await store.reschedule(id, notBefore: fixture.clock.now + .seconds(60)) == .done)
        fixture.clock.advance(by: .seconds(60))
        _ = try await store.admitScheduled()
        #expect(lines(fixture).last == "changed q 1 note")
        for isRetry in [false, true] {
            try await store.settle(try await store.take(), .fail(.undecodable, .block, error: "e"))
            if !isRetry { try await store.liftUndecodable() }
            if isRetry { _ = try await store.retryNow(.exact("q")) }
            #expect(lines(fixture).last == "changed q 1 note")
        }
    }

    @Test("Each edit in place is told, and one that changes nothing is not")
    func edited() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        let ids = try await store.add([ActionDraft("a"), ActionDraft("b")])
        let later = fixture.clock.now + .seconds(60)
        #expect(try await store.moveToFront(ids[0]) == .done)
        #expect(try await store.moveToFront(ids[1]) == .done)
        #expect(try await store.edit(ids[0], kind: "other", payload: "1", version: 2) == .done)
        #expect(try await store.setExpiry(ids[0], later) == .done)
        #expect(try await store.setTag(ids[0], "t") == .done)
        #expect(try await store.reschedule(ids[0], notBefore: later) == .done)
        #expect(
            lines(fixture) == ["edited q 2 note"] + (0..<4).map { _ in "edited q 1 other" }
        )
        #expect(fixture.commits.elements.flatMap(\.events).last?.until == later.date)
    }

    @Test("A status sequence tells of an edit while nobody runs the queues")
    func status() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        var iterator = broker.statusUpdates(of: "notes").makeAsyncIterator()
        try await #expect(iterator.next()?.head == ids[0])
        try await #expect(broker.moveToFront(ids[1]) == .done)
        try await #expect(iterator.next()?.head == ids[1])
        await broker.close()
    }
}
