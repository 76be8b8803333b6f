import Testing

@testable import Sluice

@Suite("The scheduler's route permits") struct SchedulerPermitTests {
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
        #expect(refusal == .lacksPermit(route))
        _ = machine.finish(1)
        #expect(machine.concluded(2, .lacksPermit(route)).claimed == [2])
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
        _ = machine.concluded(1, .nothing)
        // Its head was cancelled before the claim: the permit must not be lost with it.
        #expect(machine.concluded(2, .nothing).claimed == [3])
    }

    @Test("G9: a permit whose next in line has a head of another route now goes to the one behind it")
    func permitGoesOnFromRun() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2, 3])
        for queue in [1, 2, 3] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        #expect(machine.finishing(1)?.queue == 2)
        _ = machine.settled(1)
        _ = machine.concluded(1, .nothing)
        #expect(machine.claim(2).claimed == [3])
    }

    @Test("A claim that is asked twice, because its transaction is repeated, takes one permit")
    func repeatedAdmission() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2])
        #expect(machine.admit(1, route: 7, limit: 1) == nil)
        #expect(machine.admit(1, route: 7, limit: 1) == nil)
        _ = machine.started(1)
        _ = machine.claim(2, route: 7, limit: 1)
        #expect(machine.finishing(1)?.queue == 2)
    }

    @Test("A claim that was admitted but never written gives its permit back")
    func admittedInVain() {
        let machine = TestMachine(concurrency: 10)
        _ = machine.wake([1, 2])
        #expect(machine.admit(1, route: 7, limit: 1) == nil)
        _ = machine.claim(2, route: 7, limit: 1)
        #expect(machine.concluded(1, .waiting(wait(), until: .seconds(1))).claimed == [2])
        #expect(machine.claim(2, route: 7, limit: 1).isEmpty)
        #expect(machine.phases[2] == .running)
    }

    @Test("G9: a permit that a queue in the line was called for is not taken by a newcomer")
    func noOvertaking() {
        let machine = TestMachine(concurrency: 2)
        _ = machine.wake([1, 2])
        for queue in [1, 2] as [QueueID] { _ = machine.claim(queue, route: 7, limit: 1) }
        // Before queue 2 is called, queue 3 of the same route is ready.
        #expect(machine.wake([4, 3]).claimed == [4])
        #expect(machine.finishing(1)?.queue == 3)
        #expect(machine.claim(3, route: 7, limit: 1).claimed == [2])
        #expect(machine.phases[3] == .lackingPermit(route))
        #expect(machine.claim(2, route: 7, limit: 1).isEmpty)
        #expect(machine.phases[2] == .running)
    }

    @Test("G7, G9: a suspect that is alone takes its permit before those who were called for it")
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

    @Test("Permits are taken up to the limit, given back once, and their line is served in order")
    func permitsAlone() {
        var permits = RoutePermits()
        var taken = [permits.take(route, limit: 2, for: 1), permits.take(route, limit: 2, for: 2)]
        taken.append(permits.take(route, limit: 2, for: 3))
        taken.append(permits.take(RouteID(rawValue: 8), limit: nil, for: 3))
        #expect(taken == [true, true, false, true])
        let stands = (
            permits.enqueue(3, for: route), permits.enqueue(4, for: route), permits.enqueue(3, for: route)
        )
        #expect(stands == (true, true, true))
        let released = (permits.release(1), permits.release(1), permits.release(9))
        #expect(released == (route, nil, nil))
        let tooLate = permits.enqueue(5, for: route)
        #expect(!tooLate)
        let served = [permits.dequeue(for: route), permits.dequeue(for: route), permits.dequeue(for: route)]
        #expect(served == [3, 4, nil])
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
        _ = machine.concluded(8, .nothing)
        #expect(!machine.isCrowded)
    }
}
