import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Places and slots, by discipline", .watched)
struct DisciplinePlaceTests {
    @Test("G4: what stood aside blocks the queue in order that it is moved to")
    func movedIntoOrder() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("a")
        let a = try await fixture.store.take(by: .by(.concurrent(2)))
        try await fixture.store.settle(a, .retry(after: .seconds(60), error: "e"))
        try await fixture.store.add("b", in: "f")
        _ = try await fixture.store.move(id, to: "f")
        #expect(try await fixture.store.claim("f").word == "waiting")
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.store.take("f").text == "a")
    }

    @Test("An action whose sort key is edited while it runs waits at its new place", arguments: [1, 3])
    func editedWhileRunning(slots: Int) async throws {
        let fixture = try await StoreFixture()
        let rules = QueueRules.by(.concurrent(slots))
        let id = try await fixture.store.add("a", by: .integer(1))
        try await fixture.store.add("b", by: .integer(2))
        let a = try await fixture.store.take(by: rules)
        try fixture.execute("UPDATE sluice_actions SET sort_key = 5 WHERE id = \(id)")
        // Where slots are left, the claims behind it take its new place in, and go by it.
        if slots > 1 {
            let b = try await fixture.store.take(by: rules)
            #expect(b.text == "b")
            #expect(try await fixture.store.finishedClaim(by: rules).word == "empty")
            try await fixture.store.settle(b, .retry(after: .zero, error: "e"))
        }
        try await fixture.store.settle(a, .retry(after: .zero, error: "e"))
        #expect(try fixture.row("SELECT depth FROM sluice_queues") == "2")
        #expect(try await fixture.store.drain(by: rules) == ["b", "a"])
    }

    @Test("G3: a slot of a process that stops is taken while another slot runs here")
    func freedElsewhere() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        let second = try await StoreFixture.process(2, on: file, clock: clock)
        for number in 0..<4 { try await first.store.add("\(number)") }
        _ = try await first.store.take(by: .by(.concurrent(2)))
        let machine = TestMachine()
        let queue = try await second.store.queueID("q")
        #expect(machine.wake([queue]).claimed == [queue])
        let b = try await second.store.take(by: .by(.concurrent(2)))
        let next = machine.started(queue, claim: b.receipt.claim, room: b.room).claimed
        if next == [queue] {
            #expect(try await second.store.finishedClaim(by: .by(.concurrent(2))).word == "takenElsewhere")
            _ = machine.concluded(queue, .takenElsewhere)
        }
        // The first process stops: its slot is free, and the queue is named to the second.
        try await first.store.stopRunning()
        try await second.store.readForeignChanges()
        let woken = machine.wake([queue]).claimed + machine.askAgain(all: true).claimed
        #expect(woken == [queue])
    }

    @Test("What runs keeps its discipline over a transaction that takes changes in and is rolled back")
    func rolledBack() async throws {
        let fixture = try await StoreFixture()
        for text in ["head", "x"] { try await fixture.store.add(text) }
        let head = try await fixture.store.take(by: .by(.passOver))
        await #expect(throws: SluiceError.self) {
            try await fixture.store.write(sync: .later) { transaction in
                try transaction.core.readForeignChanges(isOfTransaction: true)
                throw TestError("as a deferred foreign key at COMMIT")
            }
        }
        try await fixture.store.settle(head, .retry(after: .zero, error: "e"))
        #expect(try await fixture.store.take(by: .by(.passOver)).text == "x")
    }

    /// An action stands aside for 40 seconds, and 5 seconds later the wall clock goes back by 30.
    private func setBackWhileAsideWaits() async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        let a = try await fixture.store.take(by: .by(.concurrent(2)))
        try await fixture.store.settle(a, .retry(after: .seconds(40), error: "e"))
        _ = try await fixture.store.admitScheduled()
        fixture.clock.advance(by: .seconds(5))
        fixture.clock.jumpWall(by: .seconds(-30))
        return fixture
    }

    @Test(
        "G8: a small step back of the wall clock holds up nothing that stands aside",
        arguments: [false, true]
    )
    func smallStepBack(isLookedAtBetween: Bool) async throws {
        let fixture = try await setBackWhileAsideWaits()
        fixture.clock.advance(by: .seconds(30))
        if isLookedAtBetween {
            let next = try await fixture.store.admitScheduled()
            #expect(next == fixture.clock.now + .seconds(5))
        }
        fixture.clock.advance(by: .seconds(5))
        #expect(try await fixture.store.admitScheduled() == nil)
        #expect(try await fixture.store.take(by: .by(.concurrent(2))).text == "a")
    }

    @Test("G8: a step back that is noticed in a transaction that is rolled back is noticed again")
    func noticedAgain() async throws {
        let fixture = try await setBackWhileAsideWaits()
        fixture.clock.advance(by: .seconds(35))
        await #expect(throws: SluiceError.self) {
            try await fixture.store.write(sync: .later) { transaction in
                _ = try transaction.schedule.admitScheduled()
                throw TestError("for whatever reason")
            }
        }
        #expect(try await fixture.store.admitScheduled() == nil)
        #expect(try await fixture.store.take(by: .by(.concurrent(2))).text == "a")
    }
}
