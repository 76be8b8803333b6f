import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's gates and holds", .watched) struct SchedulerObstacleTests {
    /// A machine whose queues wait for a gate each, or behind a hold.
    private static func blocked(
        concurrency: Int = 2,
        _ conclusions: [QueueID: ClaimResult]
    ) -> TestMachine {
        let machine = TestMachine(concurrency: concurrency)
        for (queue, conclusion) in conclusions {
            _ = machine.wake([queue])
            _ = machine.concluded(queue, conclusion)
        }
        return machine
    }

    @Test("G9: a queue that waits for a gate or is held has no permit, no deadline, and is no work")
    func costsNothing() {
        let machine = Self.blocked([
            1: .gated("a", isRouted: true), 2: .gated("a", isRouted: true), 3: .held(.never),
        ])
        #expect(machine.phases.isEmpty)
        #expect(machine.isIdle)
        #expect(machine.nextDeadline == nil)
        #expect(machine.wake([4, 5]).claimed == [4, 5])
    }

    @Test("Opening a gate wakes all that wait for it, and nobody else")
    func opening() {
        let machine = Self.blocked([
            1: .gated("a", isRouted: true), 2: .gated("b", isRouted: true), 3: .gated("a", isRouted: true),
            4: .held(.never),
        ])
        #expect(Set(machine.opened("a").claimed) == [1, 3])
        #expect(machine.opened("a").isEmpty)
        #expect(machine.phases[2] == nil && machine.phases[4] == nil)
    }

    @Test("The end of a hold wakes what is held, and nobody else")
    func holdEnds() {
        let machine = Self.blocked([1: .gated("a", isRouted: true), 2: .held(.never)])
        #expect(machine.holdsChanged().claimed == [2])
    }

    @Test("G11: other routes wake what had none, or waits for a gate, perhaps the old route's; nobody else")
    func route() {
        let machine = Self.blocked([
            1: .gated("a", isRouted: true), 2: .unroutable, 3: .held(.never), 4: .takenElsewhere,
        ])
        #expect(Set(machine.routesChanged().claimed) == [1, 2])
    }

    @Test(
        "G11: what goes away while a claim is under way is not missed by it",
        arguments: [ClaimResult.gated("a", isRouted: true), .held(.never), .unroutable]
    )
    func whileClaiming(_ conclusion: ClaimResult) {
        let machine = TestMachine()
        #expect(machine.wake([1]).claimed == [1])
        switch conclusion {
        case .gated: #expect(machine.opened("a").isEmpty)
        case .held: #expect(machine.holdsChanged().isEmpty)
        default: #expect(machine.routesChanged().isEmpty)
        }
        // The claim has read the file before, and comes late with what it found.
        #expect(machine.concluded(1, conclusion).claimed == [1])
    }

    @Test("G11: an opening that is spread is not missed by a claim under way either")
    func spreadWhileClaiming() {
        let machine = TestMachine()
        #expect(machine.wake([1]).claimed == [1])
        #expect(machine.opened("a", spread: .seconds(10)).isEmpty)
        #expect(machine.concluded(1, .gated("a", isRouted: true)).claimed == [1])
    }

    @Test("An opening can be spread over a time, evenly and from its beginning on")
    func spread() {
        let machine = Self.blocked(
            concurrency: 4,
            [1: .gated("a", isRouted: true), 2: .gated("a", isRouted: true), 3: .gated("a", isRouted: true)]
        )
        #expect(machine.opened("a", spread: .seconds(9), at: .seconds(100)).isEmpty)
        #expect(machine.timeReached(.seconds(100)).claimed == [1])
        _ = machine.claim(1)
        #expect(machine.timeReached(.seconds(102)).isEmpty)
        #expect(machine.timeReached(.seconds(103)).claimed == [2])
        _ = machine.finish(1)
        _ = machine.claim(2)
        #expect(machine.timeReached(.seconds(106)).claimed == [3])
    }

    @Test("An arrival has the queue looked at again: its head may be another one")
    func arrival() {
        let machine = Self.blocked([1: .gated("a", isRouted: true)])
        #expect(machine.wake([1]).claimed == [1])
        _ = machine.claim(1)
        // It runs by now: the opening has nobody to wake.
        #expect(machine.opened("a", spread: .seconds(1)).isEmpty)
        #expect(machine.phases[1] == .running)
        #expect(machine.opened("a").isEmpty)
        #expect(machine.phases[1] == .running)
    }

    @Test("A gate that opens by itself, and a hold that ends, are work for that time")
    func workForLater() {
        for conclusion in [.gated("a", isRouted: true), .held(.never)] as [ClaimResult] {
            let machine = Self.blocked([1: conclusion])
            #expect(machine.workAhead == .none)
            _ = machine.expectEnd(at: .seconds(600), noLaterThan: .seconds(60))
            #expect(machine.workAhead == .later(.seconds(600)))
            #expect(machine.nextDeadline == .seconds(60))
            #expect(machine.timeReached(.seconds(60)).first == .perform(.endControls))
            _ = machine.expectEnd(at: .seconds(600), noLaterThan: .seconds(600))
            #expect(machine.workAhead == .later(.seconds(600)))
        }
    }

    @Test("A machine that is stopped has forgotten them, and nothing wakes them")
    func stopped() {
        let machine = Self.blocked([1: .gated("a", isRouted: true), 2: .held(.never)])
        #expect(machine.stop() == [.stopped])
        #expect(machine.opened("a").isEmpty)
        #expect(machine.opened("a", spread: .seconds(1)).isEmpty)
        machine.start()
        #expect(machine.opened("a").claimed.isEmpty)
        #expect(machine.holdsChanged().claimed.isEmpty)
    }
}
