import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's transitions", .watched) struct SchedulerTransitionTests {
    @Test("A queue that nobody woke is unknown, and nothing is decided at the start")
    func startsEmpty() {
        let machine = TestMachine()
        #expect(machine.phases.isEmpty)
        #expect(machine.isIdle)
        #expect(machine.nextDeadline == nil)
    }

    @Test("Before the start, wakes are ignored: at the start every queue with work is told")
    func ignoresWakesBeforeStart() {
        let machine = TestMachine(concurrency: 1, isStarted: false)
        #expect(machine.wake([1]).isEmpty)
        #expect(machine.phases.isEmpty)
    }

    @Test("A woken queue is claimed, admitted, run, settled and claimed again until it has nothing left")
    func wholeRound() {
        let machine = TestMachine()
        #expect(machine.wake([1]) == [.claim([ClaimRequest(queue: 1, waitedFor: nil, trial: .waits)])])
        #expect(machine.phases[1] == .claiming(wasWoken: false))
        #expect(machine.claim(1).isEmpty)
        #expect(machine.phases[1] == .running)
        #expect(!machine.isIdle)

        let order = machine.finishing(1)
        #expect(order == ClaimRequest(queue: 1, waitedFor: nil, trial: .waits))
        #expect(machine.settled(1).isEmpty)
        #expect(machine.phases[1] == .claiming(wasWoken: false))

        #expect(machine.concluded(1, .empty) == [.becameIdle])
        #expect(machine.phases.isEmpty)
    }

    @Test("While another queue is ready, a handler that returns makes room for that one first")
    func settlingThenReady() {
        let machine = TestMachine(concurrency: 1)
        #expect(machine.wake([1, 2]).claimed == [1])
        _ = machine.claim(1)
        let order = machine.finishing(1)
        #expect(order?.queue == 2)
        #expect(machine.phases[1] == .settling)
        #expect(machine.phases[2] == .claiming(wasWoken: false))
        #expect(machine.settled(1).isEmpty)
        #expect(machine.phases[1] == .ready)
    }

    @Test("An outcome that is written alone, as the claim with it was refused, is still waited for")
    func withdrawn() {
        let machine = TestMachine()
        _ = machine.wake([1])
        _ = machine.claim(1)
        #expect(machine.finishing(1)?.queue == 1)
        #expect(machine.withdrawClaim(1).isEmpty)
        #expect(machine.phases[1] == .settling && !machine.isIdle)
        // Nor has a broker stopped that is to stop meanwhile.
        #expect(machine.stop().isEmpty)
        #expect(machine.settled(1) == [.stopped])
    }

    @Test("A queue whose claim was withdrawn is claimed again behind the outcome")
    func claimedAgain() {
        let machine = TestMachine(concurrency: 1)
        _ = machine.wake([1])
        _ = machine.claim(1)
        _ = machine.finishing(1)
        // Its permit is another's meanwhile.
        #expect(machine.withdrawClaim(1).isEmpty)
        #expect(machine.wake([2]).claimed == [2])
        #expect(machine.settled(1).isEmpty)
        #expect(machine.concluded(2, .empty).claimed == [1])
        #expect(machine.concluded(1, .empty) == [.becameIdle])
    }

    @Test("A claim that is unfinished is made again at once")
    func unfinished() {
        let machine = TestMachine()
        _ = machine.wake([1])
        #expect(machine.concluded(1, .unfinished).claimed == [1])
    }

    @Test(
        "G11: a wake while the claim is under way is not lost, whatever the claim found",
        arguments: [
            ClaimResult.empty, .waiting(wait(), until: .seconds(5)), .unroutable,
        ]
    )
    func wakeWhileClaiming(_ conclusion: ClaimResult) {
        let machine = TestMachine()
        _ = machine.wake([1])
        #expect(machine.wake([1]).isEmpty)
        #expect(machine.phases[1] == .claiming(wasWoken: true))
        #expect(machine.concluded(1, conclusion).claimed == [1])
        #expect(machine.phases[1] == .claiming(wasWoken: false))
        #expect(machine.nextDeadline == nil)
    }

    @Test("G11: a wake while a queue runs, or is written, needs no memory: the queue is claimed again anyway")
    func wakeWhileRunning() {
        let machine = TestMachine(concurrency: 1)
        #expect(machine.wake([1, 2]).claimed == [1])
        _ = machine.claim(1)
        #expect(machine.wake([1]).isEmpty)
        #expect(machine.phases[1] == .running)
        _ = machine.finishing(1)
        #expect(machine.wake([1]).isEmpty)
        #expect(machine.phases[1] == .settling)
        _ = machine.settled(1)
        #expect(machine.concluded(2, .empty).claimed == [1])
    }

    @Test("A wake of a ready queue does not put it into the line twice")
    func wakeWhileReady() {
        let machine = TestMachine(concurrency: 1)
        _ = machine.wake([1, 2])
        #expect(machine.wake([2]).isEmpty)
        #expect(machine.concluded(1, .empty).claimed == [2])
        #expect(machine.concluded(2, .empty) == [.becameIdle])
    }

    @Test("A queue whose head has no route waits for a route or a wake, and is forgotten meanwhile")
    func unroutable() {
        let machine = TestMachine()
        _ = machine.wake([1, 2])
        _ = machine.concluded(1, .unroutable)
        #expect(machine.concluded(2, .unroutable) == [.becameIdle])
        #expect(machine.phases.isEmpty)
        #expect(machine.wake([2]).claimed == [2])
        #expect(machine.concluded(2, .empty) == [.becameIdle])
        #expect(machine.routesChanged().claimed == [1])
        #expect(machine.concluded(1, .empty) == [.becameIdle])
        #expect(machine.routesChanged().claimed.isEmpty)
    }

    @Test("G10: a route that is added between the claim's look and its conclusion is not missed")
    func routeWhileClaiming() {
        let machine = TestMachine()
        _ = machine.wake([1])
        // The claim has found no route in its transaction, which has not been told yet.
        _ = machine.routesChanged()
        #expect(machine.concluded(1, .unroutable).claimed == [1])
    }

    @Test("G9: no more claims and handlers than permits, and no ready queue left while one is free")
    func concurrencyBound() {
        let machine = TestMachine(concurrency: 3)
        #expect(machine.wake([1, 2, 3, 4, 5]).claimed == [1, 2, 3])
        #expect(machine.claim(1).isEmpty)
        #expect(machine.concluded(2, .empty).claimed == [4])
        #expect(machine.wake([6]).isEmpty)
        #expect(machine.readyCount == 2)
        #expect(machine.concluded(3, .empty).claimed == [5])
        #expect(machine.concluded(4, .empty).claimed == [6])
        #expect(machine.concluded(5, .empty).isEmpty)
        #expect(machine.readyCount == 0)
    }

    @Test("A stop waits until the outcome of the last handler has been written")
    func stopWhileSettling() {
        let machine = TestMachine()
        machine.runAll([1])
        #expect(machine.stop().isEmpty)
        #expect(machine.finishing(1) == nil)
        #expect(machine.timeReached(.zero).isEmpty)
        #expect(machine.settled(1) == [.stopped])
    }

    @Test("It is idle when nothing is ready, runs, waits or is scheduled, and says so each time")
    func idle() {
        let machine = TestMachine()
        #expect(machine.schedule(.admitScheduled, at: .seconds(1)).isEmpty)
        _ = machine.wake([1])
        #expect(machine.concluded(1, .empty).isEmpty)
        #expect(!machine.isIdle)
        #expect(machine.schedule(.admitScheduled, at: nil) == [.becameIdle])
        // Chores of the engine itself keep nobody waiting.
        #expect(machine.schedule(.renewLease, at: .seconds(1)) == [.becameIdle])
        #expect(machine.isIdle)
        _ = machine.wake([1])
        #expect(machine.concluded(1, .waiting(wait(), until: .seconds(5))).isEmpty)
        #expect(!machine.isIdle)
    }
}
