import Testing

@testable import Sluice

@Suite("Queues without a route here") struct RoutelessQueuesTests {
    private var queues = RoutelessQueues()

    @Test("G9: others may be needed for the length of a tenure behind the newest")
    mutating func newest() {
        #expect(queues.mayBeOthers(at: .zero) == false)
        queues.append(1)
        #expect(queues.mayBeOthers(at: .seconds(100)) == true)
        #expect(queues.next() == 1)
        queues.append(1)
        #expect(queues.mayBeOthers(at: .seconds(100) + PrimaryPlan.tenure - .nanoseconds(1)) == true)
        #expect(queues.mayBeOthers(at: .seconds(100) + PrimaryPlan.tenure) == false)
        queues.append(2)
        #expect(queues.mayBeOthers(at: .seconds(200)) == true)
        #expect(queues.remove(2) == false)
        #expect(queues.mayBeOthers(at: .seconds(200)) == true)
        #expect(queues.remove(1) == false)
        #expect(queues.mayBeOthers(at: .seconds(200)) == false)
        // It has had a route, or nothing to do, meanwhile.
        queues.append(1)
        #expect(queues.mayBeOthers(at: .seconds(300)) == true)
    }

    @Test("G9: others are needed for as long as one of them runs such a queue, and for a tenure behind that")
    mutating func runElsewhere() {
        queues.append(1)
        #expect(queues.mayBeOthers(at: .zero) == true)
        #expect(queues.next() == 1)
        queues.runsElsewhere(1)
        // What has a route here, and runs elsewhere, needs no other process.
        queues.runsElsewhere(2)
        #expect(queues.mayBeOthers(at: .seconds(100)) == true)
        #expect(queues.mayBeOthers(at: .seconds(100) + PrimaryPlan.tenure) == false)
        queues.runsElsewhere(2)
        #expect(queues.mayBeOthers(at: .seconds(200)) == false)
        queues.runsElsewhere(1)
        #expect(queues.mayBeOthers(at: .seconds(200)) == true)
        #expect(queues.remove(1) == false)
        #expect(queues.mayBeOthers(at: .seconds(200)) == false)
        #expect(queues.isEmpty)
    }

    @Test("It is told once of one that was asked again, and of no other")
    mutating func askedAgain() {
        queues.append(1)
        queues.append(2)
        #expect(queues.next() == 1)
        #expect(queues.next() == 2)
        #expect(queues.count == 2)
        #expect(queues.remove(1) == true)
        #expect(queues.remove(1) == false)
        queues.append(2)
        #expect(queues.remove(2) == false)
        #expect(queues.isEmpty)
        #expect(queues.next() == nil)
    }
}
