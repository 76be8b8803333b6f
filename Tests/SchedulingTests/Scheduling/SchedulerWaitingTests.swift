import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's waits and chores", .watched) struct SchedulerWaitingTests {
    /// A machine in which queue 1 waits until a time.
    private static func waiting(until time: Duration = .seconds(10)) -> TestMachine {
        let machine = TestMachine(concurrency: 2)
        _ = machine.wake([1])
        _ = machine.concluded(1, .waiting(wait(), until: time))
        return machine
    }

    @Test("G9: a waiting queue holds no permit")
    func holdsNoPermit() {
        let machine = Self.waiting()
        #expect(machine.wake([2, 3, 4]).claimed == [2, 3])
    }

    @Test("A wait ends at its time, not before, and the claim is told which wait is over")
    func endsInTime() {
        let machine = Self.waiting()
        #expect(machine.nextDeadline == .seconds(10))
        #expect(machine.timeReached(.seconds(9.999)).isEmpty)
        let order = ClaimRequest(queue: 1, waitedFor: wait(), trial: .waits)
        #expect(machine.timeReached(.seconds(10)) == [.claim([order])])
        #expect(machine.nextDeadline == nil)
    }

    @Test("G8: a wake during a wait keeps the first deadline, however far the clock says it is now")
    func wakeKeepsDeadline() {
        let machine = Self.waiting()
        let orders = machine.wake([1]).orders
        #expect(orders == [ClaimRequest(queue: 1, waitedFor: nil, trial: .waits)])
        // The wall clock was set back: the file would have the whole delay begin anew.
        #expect(machine.concluded(1, .waiting(wait(), until: .seconds(3_610))).isEmpty)
        #expect(machine.nextDeadline == .seconds(10))
        #expect(machine.timeReached(.seconds(10)).orders.first?.waitedFor == wait())
    }

    @Test("A wake during a wait may bring the deadline forward")
    func wakeBringsForward() {
        let machine = Self.waiting()
        _ = machine.wake([1])
        _ = machine.concluded(1, .waiting(wait(), until: .seconds(4)))
        #expect(machine.nextDeadline == .seconds(4))
    }

    @Test("Another wait than the one before has its own deadline")
    func anotherWait() {
        let machine = Self.waiting()
        _ = machine.wake([1])
        _ = machine.concluded(1, .waiting(wait(2), until: .seconds(30)))
        #expect(machine.nextDeadline == .seconds(30))
    }

    @Test("A stale deadline neither ends a later wait nor shows as the next")
    func staleDeadline() {
        let machine = Self.waiting()
        _ = machine.wake([1])
        _ = machine.claim(1)
        // Retried at once by an operator; the second attempt failed and waits longer.
        _ = machine.finish(1)
        _ = machine.concluded(1, .waiting(wait(2), until: .seconds(60)))
        #expect(machine.nextDeadline == .seconds(60))
        #expect(machine.timeReached(.seconds(10)).isEmpty)
        #expect(machine.timeReached(.seconds(59)).isEmpty)
        #expect(machine.timeReached(.seconds(60)).orders.first?.waitedFor == wait(2))
    }

    @Test("A wait that is over is told once, not for the next claim")
    func overOnce() {
        let machine = Self.waiting()
        #expect(machine.timeReached(.seconds(10)).orders.first?.waitedFor == wait())
        _ = machine.concluded(1, .unfinished)
        #expect(machine.phases[1] == .claiming(wasWoken: false))
        _ = machine.concluded(1, .empty)
        #expect(machine.wake([1]).orders.first?.waitedFor == nil)
    }

    @Test("A claim that fails behind each wait waits its whole delay each time, and does not spin")
    func failingClaim() {
        let machine = Self.waiting()
        for second in 10..<20 {
            let now = Duration.seconds(second)
            #expect(machine.timeReached(now).claimed == [1])
            // As the claim is made again a little later: the same wait.
            #expect(machine.concluded(1, .waiting(wait(), until: now + .seconds(1))).isEmpty)
            #expect(machine.nextDeadline == now + .seconds(1))
        }
    }

    @Test("Waits that end together are claimed in the order of their deadlines")
    func manyAtOnce() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3])
        _ = machine.concluded(1, .waiting(wait(1), until: .seconds(3)))
        _ = machine.concluded(2, .waiting(wait(2), until: .seconds(1)))
        _ = machine.concluded(3, .waiting(wait(3), until: .seconds(2)))
        #expect(machine.timeReached(.seconds(5)).claimed == [2, 3, 1])
    }

    @Test("A timeout is told once at its time, and not when the handler has returned before")
    func timeouts() {
        let machine = TestMachine(concurrency: 2)
        _ = machine.wake([1, 2])
        _ = machine.claim(1, timeOutAt: .seconds(5))
        _ = machine.claim(2, timeOutAt: .seconds(6))
        #expect(machine.timeReached(.seconds(4)).isEmpty)
        #expect(machine.timeReached(.seconds(5)) == [.timeOut(claim: 1)])
        // The slot stays taken: nothing is claimed, and it is not told again.
        #expect(machine.timeReached(.seconds(5.5)).isEmpty)
        #expect(machine.phases[1] == .running)
        _ = machine.finish(2)
        #expect(machine.nextDeadline == nil)
        #expect(machine.timeReached(.seconds(7)).isEmpty)
    }

    @Test("A chore is performed at its time, once", arguments: Chore.allCases)
    func chores(_ chore: Chore) {
        let machine = TestMachine()
        _ = machine.schedule(chore, at: .seconds(5))
        #expect(machine.nextDeadline == .seconds(5))
        #expect(!machine.timeReached(.seconds(4)).contains(.perform(chore)))
        #expect(machine.timeReached(.seconds(5)).contains(.perform(chore)))
        #expect(!machine.timeReached(.seconds(6)).contains(.perform(chore)))
    }

    @Test("A chore's time replaces the one before; 'no later than' only brings it forward")
    func choreTimes() {
        let machine = TestMachine()
        _ = machine.schedule(.sync, at: .seconds(5))
        _ = machine.schedule(.sync, at: .seconds(9))
        #expect(machine.nextDeadline == .seconds(9))
        _ = machine.schedule(.sync, noLaterThan: .seconds(12))
        #expect(machine.nextDeadline == .seconds(9))
        _ = machine.schedule(.sync, noLaterThan: .seconds(7))
        #expect(machine.nextDeadline == .seconds(7))
        _ = machine.schedule(.sync, at: nil)
        #expect(machine.nextDeadline == nil)
    }

    @Test("G11: a chore that ends does not take back a time that was asked for while it was performed")
    func choreAskedForMeanwhile() {
        let machine = TestMachine()
        _ = machine.schedule(.admitScheduled, at: .seconds(60))
        _ = machine.schedule(.admitScheduled, noLaterThan: .seconds(1))
        #expect(machine.admitNext(at: nil, insteadOf: .seconds(60)).isEmpty)
        #expect(machine.nextDeadline == .seconds(1))
        _ = machine.admitNext(at: .seconds(5), insteadOf: .seconds(60))
        #expect(machine.nextDeadline == .seconds(1))
        _ = machine.admitNext(at: .seconds(0.5), insteadOf: .seconds(60))
        #expect(machine.nextDeadline == .seconds(0.5))
        #expect(machine.admitNext(at: nil, insteadOf: .seconds(0.5)) == [.becameIdle])
        #expect(machine.nextDeadline == nil)
    }

    @Test("G11: nor a time behind its own, which what it looked at did not know yet")
    func choreAskedForLater() {
        let machine = TestMachine()
        for time in [Duration.seconds(60), .seconds(70)] {
            _ = machine.schedule(.admitScheduled, at: .seconds(60))
            _ = machine.schedule(.admitScheduled, noLaterThan: .seconds(90))
            _ = machine.schedule(.admitScheduled, noLaterThan: time)
            #expect(machine.admitNext(at: nil, insteadOf: .seconds(60)).isEmpty)
            #expect(machine.nextDeadline == time)
        }
        // Once, and not by the next look.
        _ = machine.schedule(.admitScheduled, at: .seconds(80))
        #expect(machine.admitNext(at: nil, insteadOf: .seconds(80)) == [.becameIdle])
    }

    @Test("What has decided to look for scheduled actions is not idle before the look has begun")
    func admitting() {
        let machine = TestMachine()
        _ = machine.schedule(.admitScheduled, at: .seconds(60))
        #expect(machine.timeReached(.seconds(60)) == [.perform(.admitScheduled)])
        #expect(!machine.isIdle)
        #expect(machine.schedule(.admitScheduled, at: .seconds(120)).isEmpty)
        #expect(machine.admitNext(at: nil, insteadOf: .seconds(120)) == [.becameIdle])
    }
}
