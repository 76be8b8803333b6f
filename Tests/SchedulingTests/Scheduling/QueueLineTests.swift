import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Queues in a line", .watched) struct QueueLineTests {
    private var line = QueueLine()

    /// Takes all out, in their order.
    private mutating func all() -> [QueueID] {
        var queues: [QueueID] = []
        while let queue = line.popFirst() { queues.append(queue) }
        return queues
    }

    @Test("They leave in the order in which they have come, each once")
    mutating func order() {
        for queue in [3, 1, 2, 1, 3] as [QueueID] { line.append(queue) }
        #expect(line.count == 3 && !line.isEmpty)
        #expect(all() == [3, 1, 2])
        #expect(line.isEmpty)
    }

    @Test("One that has left in between is passed over, and comes back at its old place")
    mutating func leaves() {
        for queue in [1, 2, 3] as [QueueID] { line.append(queue) }
        line.remove(1)
        line.remove(7)
        #expect(line.count == 2)
        line.append(1)
        line.remove(2)
        #expect(all() == [1, 3])
    }

    @Test("However often they leave and come back, it stays as long as there are queues")
    mutating func length() {
        for round in 1...10_000 as ClosedRange<Int64> {
            line.append(QueueID(rawValue: round % 3))
            line.remove(QueueID(rawValue: (round + 1) % 3))
        }
        #expect(line.count <= 3)
        #expect(line.length <= 2 * 3 + 65)
        #expect(Set(all()).count <= 3)
    }
}
