import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler's fairness", .watched) struct SchedulerFairnessTests {
    @Test("G9: with one permit, queues that always have more to do take turns")
    func roundRobin() {
        let machine = TestMachine(concurrency: 1)
        var turns: [QueueID] = machine.wake([1, 2, 3]).claimed
        for _ in 0..<8 {
            let queue = turns[turns.count - 1]
            _ = machine.claim(queue)
            let (order, decisions) = machine.finish(queue)
            #expect(decisions.isEmpty)
            turns += [order].compactMap { $0?.queue }
        }
        #expect(turns == [1, 2, 3, 1, 2, 3, 1, 2, 3])
    }

    @Test("G9: a queue that finishes goes behind those that became ready meanwhile")
    func goesBehind() {
        let machine = TestMachine(concurrency: 2)
        machine.runAll([1, 2])
        _ = machine.wake([3, 4])
        #expect(machine.finish(1).order?.queue == 3)
        _ = machine.claim(3)
        #expect(machine.finish(3).order?.queue == 4)
        _ = machine.claim(4)
        #expect(machine.finish(4).order?.queue == 1)
        #expect(machine.phases[3] == .ready)
    }

    @Test("A lone busy queue goes on in the transaction that settles its last action")
    func loneQueue() {
        let machine = TestMachine(concurrency: 4)
        machine.runAll([1])
        for _ in 0..<3 {
            #expect(machine.finish(1).order?.queue == 1)
            _ = machine.claim(1)
        }
        #expect(machine.phases == [1: .running])
    }

    @Test("G9: 1,000 queues of different length all progress at the same rate")
    func equalProgress() {
        let machine = TestMachine(concurrency: 7)
        let queues = (1...1_000).map { QueueID(rawValue: $0) }
        var runs: [QueueID: Int] = [:]
        var busy = machine.wake(queues).claimed
        for _ in 0..<10_000 {
            let queue = busy.removeFirst()
            _ = machine.claim(queue)
            runs[queue, default: 0] += 1
            let (order, decisions) = machine.finish(queue)
            busy += [order].compactMap { $0?.queue } + decisions.claimed
        }
        #expect(runs.count == 1_000)
        #expect((runs.values.max() ?? 0) - (runs.values.min() ?? 0) <= 1)
    }
}
