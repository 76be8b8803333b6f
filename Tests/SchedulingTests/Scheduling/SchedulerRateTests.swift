import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's rate limits", .watched) struct SchedulerRateTests {
    private let limit = RouteID(rawValue: 7)

    /// A machine whose queues 1 to `count` have been refused by the limit until 10 seconds.
    private func refused(_ count: Int64 = 4) -> TestMachine {
        let machine = TestMachine(concurrency: .max)
        let queues = (1...count).map { QueueID(rawValue: $0) }
        _ = machine.wake(queues)
        for queue in queues { _ = refuse(queue, 10, machine) }
        return machine
    }

    private func refuse(_ queue: QueueID, _ seconds: Int, _ machine: TestMachine) -> [QueueID] {
        machine.concluded(queue, .lacksRate(limit, until: .seconds(seconds))).claimed
    }

    @Test("Of the queues that wait for a limit, one is claimed at its time; when it has started, the next")
    func turn() {
        let machine = refused()
        #expect(machine.nextDeadline == .seconds(10))
        #expect(machine.phases[2] == .lackingRate(limit))
        #expect(machine.timeReached(.seconds(9)).claimed.isEmpty)
        #expect(machine.timeReached(.seconds(10)).claimed == [1])
        #expect(machine.started(1).claimed == [2])
        #expect(refuse(2, 20, machine) == [])
        #expect(machine.standing(2).hasTurn)
        #expect(machine.standing(4).phase == .lackingRate(limit))
        #expect(machine.timeReached(.seconds(20)).claimed == [2])
        // As many as the limit allows then.
        #expect(machine.started(2).claimed == [3])
        #expect(machine.started(3).claimed == [4])
        #expect(machine.started(4).claimed.isEmpty)
        #expect(machine.nextDeadline == nil)
    }

    @Test("G9: ten thousand waiting queues cost two claims for each start")
    func cost() {
        let machine = refused(10_000)
        var (claims, starts) = (0, 0)
        for tick in 1..<100 {
            var claimed = machine.timeReached(.seconds(10 * tick)).claimed
            #expect(claimed.count == 1)
            var isAllowed = true
            while let queue = claimed.popLast() {
                claims += 1
                if isAllowed {
                    starts += 1
                    claimed += machine.started(queue).claimed
                } else {
                    claimed += refuse(queue, 10 * (tick + 1), machine)
                }
                isAllowed = false
            }
        }
        #expect(starts == 99 && claims == 198)
    }

    @Test("A wake looks at the head again, and the queue keeps its place in the line")
    func wakeInLine() {
        let machine = refused()
        #expect(machine.wake([1, 3]).claimed == [1, 3])
        #expect(refuse(3, 10, machine) == [])
        #expect(refuse(1, 10, machine) == [])
        #expect(machine.timeReached(.seconds(10)).claimed == [1])
        #expect(machine.started(1).claimed == [2])
        #expect(machine.started(2).claimed == [3])
    }

    @Test("A queue that has lost its head, or waits for something else, passes its turn on")
    func passedOn() {
        let machine = refused()
        #expect(machine.timeReached(.seconds(10)).claimed == [1])
        #expect(machine.concluded(1, .empty).claimed == [2])
        #expect(machine.concluded(2, .lacksRate(RouteID(rawValue: 8), until: .seconds(60))).claimed == [3])
        #expect(machine.concluded(3, .gated("g", isRouted: true)).claimed == [4])
        #expect(machine.nextDeadline == .seconds(60))
    }

    @Test("A queue in the line that waits for something else now is passed over")
    func leftLine() {
        let machine = refused()
        #expect(machine.wake([2]).claimed == [2])
        _ = machine.concluded(2, .gated("g", isRouted: true))
        #expect(machine.timeReached(.seconds(10)).claimed == [1])
        #expect(machine.started(1).claimed == [3])
    }

    @Test("G9, G11: a queue in the line that has the turn at another limit keeps that")
    func turnElsewhere() {
        let machine = refused()
        let other = ClaimResult.lacksRate(RouteID(rawValue: 8), until: .seconds(60))
        for queue in [2, 5] as [QueueID] {
            #expect(machine.wake([queue]).claimed == [queue])
            #expect(machine.concluded(queue, other).claimed.isEmpty)
        }
        #expect(machine.timeReached(.seconds(10)).claimed == [1])
        #expect(machine.started(1).claimed == [3])
        #expect(machine.timeReached(.seconds(60)).claimed == [2])
        #expect(machine.started(2).claimed == [5])
    }

    @Test("G11: a wake during the claim that the limit refuses causes another claim")
    func wokenDuringClaim() {
        let machine = refused()
        #expect(machine.timeReached(.seconds(10)).claimed == [1])
        _ = machine.wake([1])
        #expect(refuse(1, 20, machine) == [1])
        #expect(machine.started(1).claimed == [2])
    }

    @Test("New routes have all that wait for a limit claimed again, in case they apply to them")
    func routesChanged() {
        let machine = refused()
        #expect(Set(machine.routesChanged().claimed) == [1, 2, 3, 4])
        #expect(machine.nextDeadline == nil)
    }
}
