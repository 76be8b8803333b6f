import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Scheduler: queues with several slots", .watched)
struct SchedulerSlotTests {
    @Test("As long as slots are left the queue is claimed from again, and no longer")
    func asksAgain() {
        let machine = TestMachine()
        #expect(machine.wake([1]).claimed == [1])
        #expect(machine.started(1, claim: 11, room: .more).claimed == [1])
        #expect(machine.started(1, claim: 12, room: .full).isEmpty)
        #expect(machine.wake([1]).isEmpty)
        #expect(!machine.isIdle)
    }

    @Test("One that finds nothing leaves the queue to a wake, while the others run")
    func findsNothing() {
        let machine = TestMachine()
        _ = machine.wake([1])
        _ = machine.started(1, claim: 11, room: .more)
        #expect(machine.concluded(1, .empty).isEmpty)
        #expect(machine.phases[1] == nil)
        #expect(machine.workAhead == .now)
        #expect(machine.wake([1]).claimed == [1])
        _ = machine.concluded(1, .empty)
        #expect(machine.finishing(1, claim: 11) == nil)
        #expect(machine.workAhead == .now)
        #expect(machine.settled(1, claim: 11).claimed == [1])
        #expect(machine.concluded(1, .empty) == [.becameIdle])
        #expect(machine.workAhead == .none)
    }

    @Test("A run that ends claims its queue's next in the same transaction, if nobody else is ready")
    func ownNext() {
        let machine = TestMachine()
        _ = machine.wake([1])
        _ = machine.started(1, claim: 11, room: .more)
        _ = machine.started(1, claim: 12, room: .full)
        #expect(machine.finishing(1, claim: 11)?.queue == 1)
        #expect(machine.settled(1, claim: 11).isEmpty)
        #expect(machine.started(1, claim: 13, room: .full).isEmpty)
        #expect(machine.finishing(1, claim: 12)?.queue == 1)
        _ = machine.settled(1, claim: 12)
        // The settling had the queue looked at again: what it left may have come after that claim's look.
        #expect(machine.concluded(1, .empty).claimed == [1])
        #expect(machine.concluded(1, .empty).isEmpty)
        #expect(machine.finishing(1, claim: 13) == nil)
        #expect(machine.settled(1, claim: 13).claimed == [1])
        #expect(machine.concluded(1, .empty) == [.becameIdle])
    }

    @Test("G9: a queue with many slots takes turns with the others")
    func turns() {
        let machine = TestMachine(concurrency: 2)
        #expect(machine.wake([1, 2]).claimed == [1, 2])
        // It is in the line again, behind whom it was before.
        #expect(machine.started(1, claim: 11, room: .more).isEmpty)
        #expect(machine.started(2, claim: 21, room: .more).isEmpty)
        #expect(machine.finishing(1, claim: 11)?.queue == 1)
        _ = machine.settled(1, claim: 11)
        #expect(machine.finishing(2, claim: 21)?.queue == 2)
    }

    @Test("G9: each run has a permit of its route, and gives its own back")
    func permits() {
        let machine = TestMachine()
        _ = machine.wake([1])
        #expect(machine.admit(1, limit: 2) == nil)
        _ = machine.started(1, claim: 11, room: .more)
        #expect(machine.admit(1, limit: 2) == nil)
        _ = machine.started(1, claim: 12, room: .more)
        let refusal = machine.admit(1, limit: 2)
        #expect(refusal.map { "\($0)" } == "\(ClaimResult.lacksPermit(RouteID(rawValue: 0), limit: 2))")
        #expect(machine.concluded(1, refusal ?? .empty).isEmpty)
        // The permit that it gives back calls the queue.
        #expect(machine.finishing(1, claim: 11)?.queue == 1)
        _ = machine.settled(1, claim: 11)
        #expect(machine.admit(1, limit: 2) == nil)
    }

    @Test("G7: a suspect of such a queue waits until all others have ended, and then runs alone")
    func suspects() {
        let machine = TestMachine()
        _ = machine.wake([1, 2])
        _ = machine.started(1, claim: 11, room: .more)
        _ = machine.claim(2)
        let refusal = machine.admit(1, isSuspect: true)
        let suspect = CrashSuspect(queue: 1, level: 0, crashes: 0)
        #expect(refusal.map { "\($0)" } == "\(ClaimResult.awaitsTrial(suspect))")
        #expect(machine.concluded(1, .awaitsTrial(suspect)).isEmpty)
        #expect(machine.finishing(2) == nil)
        _ = machine.settled(2)
        #expect(machine.finishing(1, claim: 11) == nil)
        #expect(machine.settled(1, claim: 11).claimed == [1])
        #expect(machine.admit(1, isSuspect: true) == nil)
        #expect(machine.started(1, claim: 12).isEmpty)
        #expect(machine.wake([3]).isEmpty)
    }

    @Test("A stop waits for all runs of a queue")
    func stop() {
        let machine = TestMachine()
        _ = machine.wake([1])
        _ = machine.started(1, claim: 11, room: .more)
        _ = machine.concluded(1, .empty)
        #expect(machine.stop().isEmpty)
        #expect(machine.finishing(1, claim: 11) == nil)
        #expect(machine.settled(1, claim: 11) == [.stopped])
        #expect(machine.isIdle)
    }
}
