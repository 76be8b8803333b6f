import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The queue of deadlines", .watched) struct DeadlineQueueTests {
    @Test("Deadlines come out by time, those of one time in the order in which they were added")
    func order() {
        var deadlines = DeadlineQueue()
        deadlines.add(.queue(3), at: .seconds(2))
        deadlines.add(.queue(1), at: .seconds(1))
        deadlines.add(.attempt(9), at: .seconds(1))
        deadlines.add(.chore(.sync), at: .seconds(1.5))
        var subjects: [DeadlineQueue.Subject] = []
        while let due = deadlines.popDue(.seconds(2)) { subjects.append(due.subject) }
        #expect(subjects == [.queue(1), .attempt(9), .chore(.sync), .queue(3)])
        #expect(deadlines.first == nil)
    }

    @Test("Nothing is due before its time")
    func notBefore() {
        var deadlines = DeadlineQueue()
        deadlines.add(.queue(1), at: .seconds(2))
        #expect(deadlines.popDue(.seconds(1.999)) == nil)
        #expect(deadlines.popDue(.seconds(2))?.subject == .queue(1))
        #expect(deadlines.popDue(.seconds(99)) == nil)
    }

    @Test("What was removed never comes up and never counts as the first")
    func removal() {
        var deadlines = DeadlineQueue()
        let number = deadlines.add(.queue(1), at: .seconds(1))
        deadlines.add(.attempt(5), at: .seconds(2))
        deadlines.add(.chore(.sync), at: .seconds(3))
        deadlines.remove(number)
        #expect(deadlines.first == .seconds(2))
        deadlines.removeAttempt(5)
        #expect(deadlines.first == .seconds(3))
        deadlines.set(.sync, at: nil)
        #expect(deadlines.first == nil)
        #expect(deadlines.popDue(.seconds(9)) == nil)
    }

    @Test("What was removed behind the first does not count as the first when that one has come up")
    func removalBehind() {
        var deadlines = DeadlineQueue()
        deadlines.add(.queue(1), at: .seconds(1))
        let number = deadlines.add(.queue(2), at: .seconds(5))
        deadlines.add(.queue(3), at: .seconds(9))
        deadlines.remove(number)
        #expect(deadlines.popDue(.seconds(1))?.subject == .queue(1))
        #expect(deadlines.first == .seconds(9))
    }

    @Test("Removing what has come up, or never was, changes nothing")
    func removalTwice() {
        var deadlines = DeadlineQueue()
        let number = deadlines.add(.queue(1), at: .seconds(1))
        deadlines.add(.queue(2), at: .seconds(2))
        _ = deadlines.popDue(.seconds(1))
        deadlines.remove(number)
        deadlines.remove(77)
        deadlines.removeAttempt(4)
        #expect(deadlines.first == .seconds(2))
    }

    @Test("A chore has one time")
    func choreHasOneTime() {
        var deadlines = DeadlineQueue()
        deadlines.set(.sync, at: .seconds(5))
        deadlines.set(.sync, at: .seconds(8))
        #expect(deadlines.time(of: .sync) == .seconds(8))
        #expect(deadlines.popDue(.seconds(7)) == nil)
        #expect(deadlines.popDue(.seconds(8))?.subject == .chore(.sync))
        #expect(deadlines.time(of: .sync) == nil)
    }

    @Test("Any mixture of adding, removing and reaching agrees with a sorted list")
    func random() {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SplitMix(seed: seed)
        var deadlines = DeadlineQueue()
        var expected: [(time: Duration, number: Int)] = []
        var now = Duration.zero
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                let time = now + .milliseconds(Int.random(in: 0..<500, using: &generator))
                expected.append((time, deadlines.add(.queue(1), at: time)))
            case 5..<9:
                guard let index = expected.indices.randomElement(using: &generator) else { continue }
                deadlines.remove(expected.remove(at: index).number)
            default:
                now += .milliseconds(Int.random(in: 0..<100, using: &generator))
                var due: [Int] = []
                while let deadline = deadlines.popDue(now) { due.append(deadline.number) }
                let expectedDue = expected.filter { $0.time <= now }.sorted {
                    ($0.time, $0.number) < ($1.time, $1.number)
                }
                expected.removeAll { $0.time <= now }
                #expect(due == expectedDue.map(\.number), "seed \(seed)")
            }
            guard deadlines.first == expected.map(\.time).min() else {
                Issue.record("seed \(seed): the first deadline is not the earliest")
                return
            }
        }
    }
}
