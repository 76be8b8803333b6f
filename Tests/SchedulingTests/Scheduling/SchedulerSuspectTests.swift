import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's suspects and its stop", .watched) struct SchedulerSuspectTests {
    @Test("G7: a suspect waits until nothing runs, and nothing else starts before it or beside it")
    func runsAlone() {
        let machine = TestMachine(concurrency: 4)
        #expect(machine.wake([1, 2, 3]).claimed == [1, 2, 3])
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.phases[1] == .suspect)
        _ = machine.claim(2)
        _ = machine.claim(3)
        // Permits are free, but the suspect is to be alone soon.
        #expect(machine.wake([4]).isEmpty)
        let first = machine.finish(2)
        #expect(first.order == nil)
        #expect(first.decisions.isEmpty)
        #expect(machine.finishing(3) == nil)
        // The handler of 3 has returned; its settling need not be awaited.
        #expect(machine.settled(3).claimed == [1])
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.phases[1] == .running)
        #expect(machine.wake([5]).isEmpty)
        #expect(machine.readyCount == 4)
        // When it has finished, the others go on, up to the bound.
        let (order, decisions) = machine.finish(1)
        #expect([order].compactMap { $0?.queue } + decisions.claimed == [4, 2, 3, 5])
    }

    @Test("G7: no suspect is tried while the outcome of another is being written")
    func besideSettling() {
        let machine = TestMachine(concurrency: 4)
        _ = machine.wake([1, 2])
        _ = machine.claim(1, isSuspect: true)
        _ = machine.claim(2)
        #expect(machine.finishing(2) == nil)
        #expect(machine.wake([3]).isEmpty)
        #expect(machine.settled(2).claimed == [1])
    }

    @Test("G7: half of the most suspect start together, and the next when they have returned")
    func halves() {
        let machine = TestMachine(concurrency: 8)
        let levels: [QueueID: Int] = [1: 1, 2: 0, 3: 1, 4: -1, 5: 1]
        let queues = levels.keys.sorted()
        #expect(machine.wake(queues + [6]).claimed == queues + [6])
        for queue in queues { _ = machine.claim(queue, isSuspect: true, level: levels[queue] ?? 0) }
        var decisions = machine.concluded(6, .empty)
        var groups: [[QueueID]] = []
        while groups.count < 4 {
            #expect(decisions.contains(.beginTrial(isLong: false)))
            let group = decisions.claimed
            groups.append(group)
            for queue in group { #expect(machine.claim(queue, isSuspect: true).isEmpty) }
            for queue in group { #expect(machine.finishing(queue) == nil || groups.count == 4) }
            decisions = group.flatMap { machine.settled($0) }
        }
        #expect(groups == [[1, 3], [5], [2], [4]])
    }

    @Test("G7, G9: when its time is over a trial ends: who runs has survived, the others start beside them")
    func timeIsOver() {
        let machine = TestMachine(concurrency: 8)
        let suspects = (1...4).map { (queue: QueueID(rawValue: $0), level: 0, crashes: 0) }
        #expect(machine.suspected(suspects, until: .seconds(5)).claimed == [1, 2])
        #expect(machine.wake([7, 8]).isEmpty)
        _ = machine.started(1, claim: 11)
        // The claim of 2 is still under way when the time is over.
        let decisions = machine.endTrial()
        #expect(decisions.contains(.survived([11])))
        #expect(decisions.claimed == [7, 8, 3, 4])
        #expect(machine.started(2, claim: 12).contains(.survived([12])))
        #expect(machine.endTrial().isEmpty)
        // They are suspect still, and there is no other trial before the next death.
        #expect(machine.admit(3, isSuspect: true) == nil)
        machine.noteDeath()
        #expect(machine.admit(3, isSuspect: true) != nil)
    }

    @Test(
        "G7: what ran in a process that ends after a trial, or during it, is tried alone, too",
        arguments: [false, true]
    )
    func laterDeath(comesDuring: Bool) {
        let machine = TestMachine(concurrency: 8)
        #expect(machine.suspected([(queue: 1, level: 0, crashes: 0)], until: .seconds(5)).claimed == [1])
        _ = machine.claim(1, isSuspect: true)
        if comesDuring { machine.noteDeath() } else { _ = machine.finish(1) }
        _ = machine.endTrial()
        if !comesDuring { machine.noteDeath() }
        #expect(machine.wake([2, 3]).claimed == [2, 3])
        _ = machine.claim(2)
        _ = machine.claim(3, isSuspect: true)
        #expect(machine.phases[3] == .suspect)
    }

    @Test("G7: what ran in a process that ends during a trial is tried, though a look has found it by then")
    func foundDuring() {
        let machine = TestMachine(concurrency: 8)
        #expect(machine.suspected([(queue: 1, level: 0, crashes: 0)], until: .seconds(5)).claimed == [1])
        _ = machine.schedule(.endTrial, at: .seconds(1))
        _ = machine.claim(1, isSuspect: true)
        machine.noteDeath()
        #expect(machine.suspected([(queue: 2, level: 0, crashes: 0)], until: .seconds(6)).isEmpty)
        // The handler of 1 has not returned.
        #expect(machine.endTrial().claimed == [2])
        _ = machine.claim(2, isSuspect: true)
        #expect(machine.phases[2] == .suspect)
    }

    @Test("G7: the end of a part is not that of the trial, while the outcome of what was tried is written")
    func settlesSlowly() {
        let machine = TestMachine(concurrency: 8)
        let suspects = (1...2).map { (queue: QueueID(rawValue: $0), level: 0, crashes: 0) }
        #expect(machine.suspected(suspects, until: .seconds(5)).claimed == [1])
        _ = machine.schedule(.endTrial, at: .seconds(1))
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.finishing(1) == nil)
        #expect(machine.trialEnd == .seconds(5))
        #expect(machine.settled(1).claimed == [2])
    }

    @Test("G7: a suspect met when the last of a trial has returned has the time of a later death")
    func metAtTheEnd() {
        let machine = TestMachine(concurrency: 8)
        #expect(machine.suspected([(queue: 1, level: 0, crashes: 0)], until: .seconds(5)).claimed == [1])
        _ = machine.claim(1, isSuspect: true)
        machine.noteDeath()
        #expect(machine.finishing(1)?.queue == 1)
        machine.meetsSuspect(at: .seconds(4))
        #expect(machine.trialEnd == .seconds(9))
    }

    @Test("G7, G9: a trial that has nothing more to try lasts to its end, and no longer for what comes later")
    func rests() {
        let machine = TestMachine(concurrency: 8)
        #expect(machine.suspected([(queue: 1, level: 0, crashes: 0)], until: .seconds(5)).claimed == [1])
        // As the scheduler does for a group.
        _ = machine.schedule(.endTrial, at: .seconds(1))
        _ = machine.claim(1, isSuspect: true)
        _ = machine.finish(1)
        #expect(machine.trialEnd == .seconds(5))
        machine.meetsSuspect(at: .seconds(4))
        #expect(machine.trialEnd == .seconds(5))
        // Its end is about to be performed: nobody is tried for no time.
        machine.meetsSuspect(at: .seconds(5))
        #expect(machine.wake([2]).claimed == [2])
        #expect(machine.admit(2, isSuspect: true) == nil)
        // Another has a time of its own, and the end of the first one is none of it.
        machine.noteDeath()
        #expect(machine.trialEnd == nil)
        machine.meetsSuspect(at: .seconds(6))
        #expect(machine.trialEnd == .seconds(11))
    }

    @Test("G9: a trial has an end also when others are to be tried while that is about to be performed")
    func beginsAtTheEnd() {
        let machine = TestMachine(concurrency: 8)
        #expect(machine.suspected([(queue: 1, level: 0, crashes: 0)], until: .seconds(5)).claimed == [1])
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.timeReached(.seconds(5)).contains(.perform(.endTrial)))
        #expect(machine.suspected([(queue: 2, level: 0, crashes: 0)], until: .seconds(10)).isEmpty)
        #expect(machine.trialEnd == .seconds(10))
    }

    @Test("G9: suspects that wait for running handlers wait no longer than the trial may take")
    func handlersStay() {
        let machine = TestMachine(concurrency: 8)
        machine.runAll([1])
        #expect(machine.suspected([(queue: 2, level: 0, crashes: 0)], until: .seconds(5)).isEmpty)
        #expect(machine.wake([3]).isEmpty)
        #expect(machine.endTrial().claimed == [3, 2])
    }

    @Test("G7: an action whose process has died while it ran alone has all the time that is left")
    func longTrial() {
        let machine = TestMachine(concurrency: 8)
        let suspects: [(queue: QueueID, level: Int, crashes: Int)] = [(1, 6, 1), (2, 0, 0)]
        let decisions = machine.suspected(suspects, until: .seconds(5))
        #expect(decisions.contains(.beginTrial(isLong: true)))
        #expect(decisions.claimed == [1])
    }

    @Test("G7: a wake while a suspect is being claimed starts nothing that would send it back")
    func wakeDuringClaim() {
        let machine = TestMachine(concurrency: 4)
        _ = machine.wake([1, 2])
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.concluded(2, .empty).claimed == [1])
        #expect(machine.wake([3]).isEmpty)
        #expect(machine.claim(1, isSuspect: true).isEmpty)
        #expect(machine.phases[1] == .running)
    }

    @Test("A queue that was claimed as a suspect but has another head by now holds nobody up")
    func suspectDisplaced() {
        let machine = TestMachine(concurrency: 4)
        _ = machine.wake([1, 2])
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.concluded(2, .empty).claimed == [1])
        #expect(machine.wake([3]).isEmpty)
        #expect(machine.claim(1).claimed == [3, 1])
    }

    @Test("A suspect whose claim could not be written lets the others go on meanwhile")
    func claimFails() {
        let machine = TestMachine(concurrency: 4)
        _ = machine.wake([1])
        #expect(machine.claim(1, isSuspect: true).claimed == [1])
        #expect(machine.admit(1, isSuspect: true) == nil)
        #expect(machine.wake([2]).isEmpty)
        #expect(machine.concluded(1, .waiting(wait(), until: .seconds(1))).claimed == [2])
    }

    @Test("A suspect that lacks its route's permit is not alone, and is let in when the permit is free")
    func lacksPermit() {
        let machine = TestMachine(concurrency: 4)
        _ = machine.wake([1, 2])
        #expect(machine.admit(2, route: 7, limit: 1) == nil)
        _ = machine.started(2)
        _ = machine.claim(1, isSuspect: true)
        #expect(machine.phases[1] == .suspect)
        _ = machine.finishing(2)
        #expect(machine.settled(2).claimed == [1])
        #expect(machine.admit(1, route: 7, limit: 1, isSuspect: true) == nil)
    }

    @Test("A suspect whose head has gone lets the next suspect run, then the others")
    func suspectHasGone() {
        let machine = TestMachine(concurrency: 4)
        _ = machine.wake([1, 2, 3])
        _ = machine.claim(1, isSuspect: true)
        _ = machine.claim(2, isSuspect: true)
        #expect(machine.concluded(3, .empty).claimed == [1])
        _ = machine.wake([4])
        #expect(machine.concluded(1, .empty).claimed == [2])
        #expect(machine.concluded(2, .empty).claimed == [4])
    }

    @Test("After a stop nothing is claimed, and it is over when the last handler's outcome is written")
    func stop() {
        let machine = TestMachine(concurrency: 2)
        machine.runAll([1, 2])
        _ = machine.wake([3])
        #expect(machine.stop().isEmpty)
        #expect(machine.wake([4]).isEmpty)
        #expect(machine.finishing(1) == nil)
        #expect(machine.settled(1).isEmpty)
        #expect(machine.finishing(2) == nil)
        #expect(machine.phases[2] == .settling)
        #expect(machine.settled(2) == [.stopped])
        #expect(machine.phases.isEmpty)
    }

    @Test("A stop while claims are under way waits for them, and for a handler that they start")
    func stopWhileClaiming() {
        let machine = TestMachine(concurrency: 2)
        _ = machine.wake([1, 2])
        #expect(machine.stop().isEmpty)
        #expect(machine.concluded(1, .empty).isEmpty)
        #expect(machine.claim(2).isEmpty)
        #expect(machine.finishing(2) == nil)
        #expect(machine.settled(2) == [.stopped])
    }

    @Test("A stop with nothing running is over at once, is told once, and forgets all waits but the sync")
    func stopWhenIdle() {
        let machine = TestMachine()
        _ = machine.wake([1])
        _ = machine.concluded(1, .waiting(wait(), until: .seconds(5)))
        _ = machine.schedule(.sync, at: .seconds(3))
        _ = machine.schedule(.renewLease, at: .seconds(1))
        #expect(machine.stop() == [.stopped])
        #expect(machine.nextDeadline == .seconds(3))
        #expect(machine.routesChanged().isEmpty)
        #expect(machine.timeReached(.seconds(9)) == [.perform(.sync)])
    }

    @Test("After a stop it can be started again, with no memory of waits, lines or suspects")
    func startAgain() {
        let machine = TestMachine(concurrency: 1)
        machine.runAll([1])
        _ = machine.wake([2, 3])
        _ = machine.stop()
        _ = machine.finish(1)
        machine.start()
        #expect(machine.phases.isEmpty)
        #expect(machine.wake([3, 1]).claimed == [3])
    }
}
