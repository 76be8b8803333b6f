import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Queues without a route here", .watched) struct RoutelessQueuesTests {
    private var queues = RoutelessQueues()

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
