import Testing

@testable import Sluice

@Suite("The scheduler beside a process that runs the queues alone") struct SchedulerStandbyTests {
    /// A machine whose permits are all in use, with queues that wait for one.
    private static func crowded() -> TestMachine {
        let machine = TestMachine(concurrency: 8)
        machine.runAll((1...20).map { QueueID(rawValue: $0) })
        return machine
    }

    /// Whether it asks to be the primary, while its handlers return and the next ones start.
    ///
    /// - Parameter waiting: How many wait for the writer, all but one if left out.
    private static func asks(
        _ machine: TestMachine,
        handlers: Int = 8,
        waiting: Int? = nil,
        from start: Duration = .zero
    ) -> Bool {
        let waiting = waiting ?? handlers - 1
        var asks = false
        var running = (1...handlers).map { QueueID(rawValue: Int64($0)) }
        for step in 1...20 {
            let orders = running.prefix(waiting).compactMap { machine.finishing($0) }
            for _ in 0..<waiting {
                asks = machine.asksToBePrimary(at: start + PrimaryPlan.window * step / 10) || asks
            }
            for queue in running.prefix(waiting) { _ = machine.settled(queue) }
            for order in orders { _ = machine.claim(order.queue) }
            running = Array(running.dropFirst(waiting)) + orders.map(\.queue)
            // What stands by claims nothing more.
            if running.count < handlers { break }
        }
        return asks
    }

    @Test("Nothing is claimed while it stands by: neither what wakes, nor behind an outcome")
    func standsBy() {
        let machine = Self.crowded()
        #expect(machine.standBy(for: .seconds(1), at: .seconds(5)).isEmpty)
        #expect(machine.nextDeadline == .seconds(6))
        #expect(machine.standing(9) == .standsBy)
        let (order, decisions) = machine.finish(1)
        #expect(order == nil && decisions.isEmpty)
        #expect(machine.wake([100]).isEmpty)
        #expect(!machine.isIdle)
        // A renewal, and the end.
        #expect(machine.standBy(for: .seconds(2), at: .seconds(5)).isEmpty)
        #expect(machine.timeReached(.seconds(6)).isEmpty)
        #expect(machine.timeReached(.seconds(7)) == [.perform(.endStandby)])
        #expect(machine.standBy(for: nil, at: .seconds(7)).claimed == [9])
        #expect(machine.standing(10) == .lacksPermit)
        #expect(machine.nextDeadline == nil)
    }

    @Test("A queue with several slots claims nothing more either")
    func slots() {
        let machine = TestMachine(concurrency: 8)
        #expect(machine.wake([1]).claimed == [1])
        #expect(machine.started(1, claim: 7, room: .more).claimed == [1])
        #expect(machine.standBy(for: .seconds(1), at: .zero).isEmpty)
        #expect(machine.started(1, claim: 8, room: .more).isEmpty)
        #expect(machine.handlers == 2)
        #expect(machine.finishing(1, claim: 7) == nil)
        #expect(machine.handlers == 1)
        #expect(machine.settled(1, claim: 7).isEmpty)
        #expect(machine.standBy(for: nil, at: .zero).claimed == [1])
    }

    @Test("It is idle when nothing is ready here, and stops when nothing runs")
    func idle() {
        let machine = TestMachine(concurrency: 8)
        machine.runAll([1])
        _ = machine.standBy(for: .seconds(1), at: .zero)
        #expect(machine.finish(1).decisions.isEmpty)
        #expect(machine.stop() == [.stopped])
        machine.start()
        #expect(machine.wake([1]).claimed == [1])
        _ = machine.standBy(for: .seconds(1), at: .zero)
        #expect(machine.concluded(1, .nothing) == [.becameIdle])
    }

    @Test("It asks when permits wait for the writer, and queues for permits")
    func asks() {
        #expect(Self.asks(Self.crowded()))
    }

    @Test("G9: the primary asks for what others had taken too, though it has no permit left")
    func taken() {
        let machine = TestMachine(concurrency: 8)
        let others = (100..<120).map { QueueID(rawValue: $0) }
        _ = machine.wake(others)
        for queue in others { _ = machine.concluded(queue, .takenElsewhere) }
        // A line so long that none of those is reached.
        machine.runAll((1...99).map { QueueID(rawValue: $0) })
        let count = machine.readyCount
        #expect(machine.askAgain(all: false).isEmpty)
        #expect(machine.readyCount == count)
        #expect(Self.asks(machine))
        // Some at once, and all with the next look at the others.
        #expect(machine.readyCount == count + 8)
        #expect(machine.askAgain(all: false, at: .seconds(60)).isEmpty)
        #expect(machine.readyCount == count + 8)
        #expect(machine.askAgain(all: false, at: PrimaryPlan.window * 2).isEmpty)
        #expect(machine.readyCount == count + others.count)
    }

    /// What has become of a process that was the primary.
    enum Since: CaseIterable { case nothing, standsBy, termOver }

    @Test("G9: a free queue with work has the primary try the next one at once", arguments: Since.allCases)
    func left(_ since: Since) {
        let machine = TestMachine(concurrency: 40)
        let others = (100..<120).map { QueueID(rawValue: $0) }
        _ = machine.wake(others)
        for queue in others { _ = machine.concluded(queue, .takenElsewhere) }
        machine.runAll((1...8).map { QueueID(rawValue: $0) })
        #expect(Self.asks(machine))
        switch since {
        case .nothing: break
        case .standsBy: _ = machine.standBy(for: .seconds(1), at: .zero)
        case .termOver: #expect(!machine.asksToBePrimary(at: .seconds(60)))
        }
        _ = machine.claim(100)
        #expect((machine.phases[108] != nil) == (since == .nothing))
    }

    @Test("G9: it asks when another process has queues too, though permits are free, and tries some of those")
    func takenByOthers() {
        let machine = TestMachine(concurrency: 40)
        let others = (100..<120).map { QueueID(rawValue: $0) }
        _ = machine.wake(others)
        for queue in others { _ = machine.concluded(queue, .takenElsewhere) }
        machine.runAll((1...8).map { QueueID(rawValue: $0) })
        #expect(Self.asks(machine))
        #expect(others.filter { machine.phases[$0] != nil } == Array(others.prefix(8)))
        // One that is free has the next one tried, and one that is taken still has not.
        _ = machine.concluded(100, .nothing)
        #expect(machine.phases[108] != nil)
        _ = machine.concluded(101, .takenElsewhere)
        #expect(machine.phases[109] == nil)
    }

    @Test("What counts is the part of the permits in use, not of all it has", arguments: [4, 5])
    func permitsInUse(waiting: Int) {
        let machine = TestMachine(concurrency: 20)
        machine.runAll((1...8).map { QueueID(rawValue: $0) })
        _ = machine.wake([100])
        _ = machine.concluded(100, .takenElsewhere)
        // In handlers are 4 and 3 of 8.
        #expect(Self.asks(machine, waiting: waiting) == (waiting == 5))
    }

    @Test("It does not ask with few permits, which share no commits")
    func fewPermits() {
        for concurrency in [7, 8] {
            let machine = TestMachine(concurrency: concurrency)
            machine.runAll((1...20).map { QueueID(rawValue: $0) })
            #expect(Self.asks(machine, handlers: concurrency) == (concurrency == 8))
        }
    }

    @Test("It does not ask where all that is ready runs")
    func enoughPermits() {
        let machine = TestMachine(concurrency: 12)
        machine.runAll((1...8).map { QueueID(rawValue: $0) })
        #expect(!Self.asks(machine))
    }

    @Test("It does not ask while a queue here has no route, which another process may have")
    func unroutable() {
        let machine = TestMachine(concurrency: 8)
        _ = machine.wake([100])
        _ = machine.concluded(100, .unroutable)
        machine.runAll((1...20).map { QueueID(rawValue: $0) })
        #expect(!Self.asks(machine))
        for hasRoute in [true, false] {
            let another = TestMachine(concurrency: 9)
            _ = another.wake([100])
            _ = another.concluded(100, .unroutable)
            #expect(another.routesChanged().claimed == [100])
            _ = hasRoute ? another.claim(100) : another.concluded(100, .nothing)
            another.runAll((1...20).map { QueueID(rawValue: $0) })
            #expect(Self.asks(another), "has a route: \(hasRoute)")
        }
    }

    @Test("G9: nor while such a queue stands in the line again, for what has come to it since")
    func unroutableAgain() {
        let machine = TestMachine(concurrency: 8)
        _ = machine.wake([100])
        _ = machine.concluded(100, .unroutable)
        machine.runAll((1...20).map { QueueID(rawValue: $0) })
        #expect(machine.wake([100]).isEmpty)
        #expect(!Self.asks(machine))
    }

    @Test("G9: nor for the length of a tenure, and then it does, though nobody has a route for that queue")
    func unroutableForGood() {
        for wait in [PrimaryPlan.tenure - PrimaryPlan.window * 3, PrimaryPlan.tenure] {
            let machine = TestMachine(concurrency: 8)
            _ = machine.wake([100])
            _ = machine.concluded(100, .unroutable)
            machine.runAll((1...20).map { QueueID(rawValue: $0) })
            #expect(!machine.asksToBePrimary(at: .zero))
            #expect(Self.asks(machine, from: wait) == (wait == PrimaryPlan.tenure))
        }
    }

    @Test("G12: it asks again for some that had no route, in turn, and forgets all that others have run")
    func unroutableElsewhere() {
        let machine = TestMachine(concurrency: 64)
        let queues = (100..<140).map { QueueID(rawValue: $0) }
        _ = machine.wake(queues)
        for queue in queues { _ = machine.concluded(queue, .unroutable) }
        #expect(machine.askAgain(all: false).claimed == Array(queues[..<8]))
        // What is asked already is not asked twice.
        #expect(machine.askAgain(all: false).claimed == Array(queues[8..<16]))
        for queue in queues[..<8] { #expect(machine.concluded(queue, .unroutable).isEmpty) }
        // One that has a route now has the next one asked, and so has each that others have run.
        #expect(machine.claim(queues[8]).claimed == [queues[16]])
        var asked = queues[9...16]
        while let queue = asked.popFirst() { asked += machine.concluded(queue, .nothing).claimed }
        #expect(machine.phases.keys.sorted() == [queues[8]])
        _ = machine.finish(queues[8])
        #expect(machine.concluded(queues[8], .nothing) == [.becameIdle])
    }

    @Test("It does not ask while a queue waits for a permit of its route")
    func routePermits() {
        for waits in [false, true] {
            let machine = TestMachine(concurrency: 9)
            _ = machine.wake([100, 101])
            _ = machine.claim(100, route: 1, limit: 1)
            _ = waits ? machine.claim(101, route: 1, limit: 1) : machine.concluded(101, .nothing)
            machine.runAll((1...20).map { QueueID(rawValue: $0) })
            #expect(Self.asks(machine) == !waits)
        }
    }

    @Test("It does not ask while it stands by, and not when it has been closed")
    func standingBy() {
        for isOpen in [true, false] {
            let machine = Self.crowded()
            // So that a window has begun.
            #expect(!machine.asksToBePrimary(at: .zero))
            if isOpen { _ = machine.standBy(for: .seconds(10), at: .zero) } else { _ = machine.stop() }
            #expect(machine.readyCount > 0)
            for step in 0..<1_000 {
                #expect(!machine.asksToBePrimary(at: PrimaryPlan.window * step / 100))
            }
        }
    }

    @Test("What it has lacked is forgotten when it starts anew")
    func startsAnew() {
        let machine = TestMachine(concurrency: 8)
        machine.runAll([1])
        _ = machine.wake([2])
        _ = machine.concluded(2, .unroutable)
        _ = machine.standBy(for: .seconds(1), at: .zero)
        _ = machine.stop()
        #expect(machine.finish(1).decisions == [.stopped])
        machine.start()
        machine.runAll((1...20).map { QueueID(rawValue: $0) })
        #expect(Self.asks(machine))
    }
}
