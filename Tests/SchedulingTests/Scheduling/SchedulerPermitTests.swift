import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's route permits", .watched) struct SchedulerPermitTests {
    private let route = RouteID(rawValue: 7)

    @Test("G9: a route's cap bounds its handlers and leaves the other permits to others")
    func cap() {
        let machine = TestMachine(concurrency: 3)
        #expect(machine.wake([1, 2, 3, 4]).claimed == [1, 2, 3])
        #expect(machine.claim(1, route: 7, limit: 1).isEmpty)
        #expect(machine.claim(2, route: 7, limit: 1).claimed == [4])
        #expect(machine.phases[2] == .lackingPermit(route))
        _ = machine.claim(3, route: 7, limit: 1)
        #expect(machine.phases[3] == .lackingPermit(route))
        // Queue 4 is of another route: 1 permit of 3 is left beside it.
        _ = machine.claim(4)
        #expect(machine.wake([5, 6]).claimed == [5])
    }

    @Test("Queues that lack a permit get it in the order in which they came")
    func line() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3, 4])
        for queue in [1, 2, 3, 4] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        var order: [QueueID] = []
        var running: QueueID = 1
        for _ in 0..<6 {
            let next = machine.finishing(running)
            let decisions = machine.settled(running)
            for queue in [next].compactMap({ $0?.queue }) + decisions.claimed {
                _ = machine.claim(queue, route: 7, limit: 1)
                if machine.phases[queue] == .running { running = queue }
            }
            order.append(running)
        }
        #expect(order == [2, 3, 4, 1, 2, 3])
    }

    @Test("A permit that came back between the claim and its conclusion is not missed")
    func permitCameBack() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2])
        _ = machine.claim(1, route: 7, limit: 1)
        let refusal = machine.admit(2, route: 7, limit: 1)
        #expect(refusal.map { "\($0)" } == "\(ClaimResult.lacksPermit(route, limit: 1))")
        _ = machine.finish(1)
        #expect(machine.concluded(2, .lacksPermit(route, limit: 1)).claimed == [2])
    }

    @Test("G11: a wake during the claim that finds no permit causes another claim")
    func wokenDuringClaim() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2])
        _ = machine.claim(1, route: 7, limit: 1)
        // Its head is of another route by now, or the route is another one.
        #expect(machine.wake([2]).claimed.isEmpty)
        #expect(machine.claim(2, route: 7, limit: 1).claimed == [2])
    }

    @Test("A wake of a queue that lacks a permit looks at its head again and keeps its place in the line")
    func wakeWhileLacking() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3])
        for queue in [1, 2, 3] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.wake([2]).claimed == [2])
        _ = machine.claim(2, route: 7, limit: 1)
        #expect(machine.phases[2] == .lackingPermit(route))
        let next = machine.finishing(1)
        #expect(next?.queue == 2)
    }

    @Test("G9: a permit whose next in line has lost its head goes to the one behind it")
    func permitGoesOn() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3])
        for queue in [1, 2, 3] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.finishing(1)?.queue == 2)
        _ = machine.settled(1)
        _ = machine.concluded(1, .empty)
        // Its head was cancelled before the claim: the permit must not be lost with it.
        #expect(machine.concluded(2, .empty).claimed == [3])
    }

    @Test("G9: a permit whose next in line has a head of another route now goes to the one behind it")
    func permitGoesOnFromRun() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3])
        for queue in [1, 2, 3] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.finishing(1)?.queue == 2)
        _ = machine.settled(1)
        _ = machine.concluded(1, .empty)
        #expect(machine.claim(2).claimed == [3])
    }

    @Test("G9: a queue that is called for one route and stands in another's line passes its permit on")
    func calledInTwoLines() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3, 4, 5])
        _ = machine.claim(1, route: 7, limit: 1)
        _ = machine.claim(2, route: 8, limit: 1)
        _ = machine.claim(3, route: 7, limit: 1)
        // Its head is of the other route now.
        #expect(machine.wake([3]).claimed == [3])
        for queue in [3, 5] as [QueueID] { _ = machine.claim(queue, route: 8, limit: 1) }
        _ = machine.claim(4, route: 7, limit: 1)
        #expect(machine.finishing(2)?.queue == 3)
        #expect(machine.finishing(1)?.queue == 4)
        #expect(machine.concluded(3, .empty).claimed == [5])
    }

    @Test("G9: a permit that a queue in the line was called for is not taken by a newcomer")
    func noOvertaking() {
        let machine = TestMachine(concurrency: 2)
        _ = machine.wake([1, 2])
        for queue in [1, 2] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        // Before queue 2 is called, queue 3 of the same route is ready.
        #expect(machine.wake([4, 3]).claimed == [4])
        #expect(machine.finishing(1)?.queue == 2)
        #expect(machine.claim(2, route: 7, limit: 1).isEmpty)
        #expect(machine.phases[2] == .running)
        #expect(machine.phases[3] == .ready)
    }

    @Test("A queue that was called and finds the permit taken stands first in the line again")
    func calledInVain() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3, 4])
        for queue in [1, 2, 3] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.finishing(1)?.queue == 2)
        _ = machine.settled(1)
        // The claim of queue 4 was under way before.
        #expect(machine.claim(4, route: 7, limit: 1).isEmpty)
        _ = machine.claim(2, route: 7, limit: 1)
        #expect(machine.phases[2] == .lackingPermit(route))
        #expect(machine.finishing(4)?.queue == 2)
    }

    @Test("G9: who finds the permit of an outcome that is not written waits for it, and asks in no loop")
    func outcomeRefused() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2])
        for queue in [1, 2] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.finishing(1)?.queue == 2)
        #expect(machine.concluded(2, .lacksPermit(route, limit: 1)).claimed.isEmpty)
        #expect(machine.phases[2] == .lackingPermit(route))
        #expect(machine.settled(1).claimed == [2, 1])
    }

    @Test("G7, G9: a suspect that is tried takes its permit before those who were called for it")
    func suspectBeforeCalled() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3, 4])
        for queue in [1, 2, 3] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        _ = machine.claim(4, route: 7, limit: 1, isSuspect: true)
        #expect(machine.finishing(1) == nil)
        #expect(machine.phases[2] == .ready)
        #expect(machine.settled(1).claimed == [4])
        #expect(machine.claim(4, route: 7, limit: 1, isSuspect: true).isEmpty)
        #expect(machine.phases[4] == .running)
        #expect(machine.finishing(4)?.queue == 2)
        _ = machine.claim(2, route: 7, limit: 1)
        #expect(machine.phases[2] == .running)
    }

    @Test("A queue that lacks a permit is polled when routes come or go, and may run by another")
    func otherRoute() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2])
        for queue in [1, 2] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.routesChanged().claimed == [2])
        _ = machine.claim(2, route: 8, limit: 1)
        #expect(machine.phases[2] == .running)
    }

    @Test("Runs of a route count from their claims to their ends, and a roll-back undoes both")
    func use() {
        var use = RouteUse()
        func routed(_ number: Int, limit: Int?) -> Admission.Entry {
            Admission.Entry(
                id: RouteID(rawValue: number),
                concurrency: limit,
                gates: [],
                crashLimit: 1,
                failure: FailurePolicies()
            )
        }
        let (capped, free) = (routed(7, limit: 2), routed(8, limit: nil))
        for claim in 1...3 as ClosedRange<Int64> { use.begin(claim, of: free) }
        use.begin(4, of: capped)
        #expect(use.isFree(capped) && use.isFree(free))
        use.committed()
        use.begin(5, of: capped)
        #expect(!use.isFree(capped))
        use.rolledBack()
        #expect(use.isFree(capped))
        use.begin(5, of: capped)
        use.committed()
        use.end(4)
        use.end(4)
        use.begin(6, of: capped)
        #expect(!use.isFree(capped))
        use.end(6)
        use.rolledBack()
        // 4 and 5 run as before.
        #expect(!use.isFree(capped))
        use.end(5)
        #expect(use.isFree(capped))
    }

    @Test("A line is served in order, each queue once, and nobody stands there whom no end would call")
    func lineAlone() {
        var lines = RouteLines()
        let tooEarly = lines.enqueue(3, for: route, limit: 1)
        #expect(!tooEarly)
        lines.began(1, of: route)
        for queue in [3, 4, 3] as [QueueID] {
            let stands = lines.enqueue(queue, for: route, limit: 1)
            #expect(stands)
        }
        let ended = [lines.ends(1), lines.ends(1), lines.ends(9)]
        #expect(ended == [route, nil, nil])
        // Its outcome is not written: another claim would find its permit taken still.
        let waits = lines.enqueue(4, for: route, limit: 1)
        #expect(waits)
        // Who was called has the permit until its claim ends.
        let served = lines.next(for: route)
        #expect(served == 3)
        lines.call(3, for: route)
        let none = lines.next(for: route)
        #expect(none == nil)
        let called = [lines.endCall(of: 3), lines.endCall(of: 3)]
        #expect(called == [route, nil])
        let next = [lines.next(for: route), lines.next(for: route)]
        #expect(next == [4, nil])
        let written = [lines.ended(1), lines.ended(1)]
        #expect(written == [route, nil])
        let tooLate = lines.enqueue(5, for: route, limit: 1)
        #expect(!tooLate)
    }

    @Test("With 7 permits in use there is no crowd, with 8 there is; it ends with the one that leaves")
    func crowd() {
        let machine = TestMachine(concurrency: 64)
        _ = machine.wake([1, 2, 3, 4, 5, 6, 7])
        for queue in [1, 2, 3, 4, 5, 6, 7] as [QueueID] { _ = machine.claim(queue) }
        #expect(!machine.isCrowded)
        // From its claim on.
        _ = machine.wake([8])
        #expect(machine.isCrowded)
        _ = machine.claim(8)
        #expect(machine.isCrowded)
        // Its permit goes to the queue's next claim.
        #expect(machine.finishing(8)?.queue == 8)
        #expect(machine.isCrowded)
        _ = machine.concluded(8, .empty)
        #expect(!machine.isCrowded)
    }
}
