import Testing

@testable import Sluice

@Suite("The scheduler beside a process that runs the queues alone") struct SchedulerStandbyTests {
    /// A machine whose permits are all in use, with queues that wait for one.
    private static func crowded() -> TestMachine {
        let machine = TestMachine(concurrency: 8)
        machine.runAll((1...20).map { QueueID(rawValue: $0) })
        return machine
    }

    /// Queues that another process has.
    private static let others = (100..<120).map { QueueID(rawValue: $0) }

    /// A machine that runs the first of some queues, and has found the others taken.
    private static func besideOthers(concurrency: Int, queues: ClosedRange<Int64> = 1...8) -> TestMachine {
        let machine = TestMachine(concurrency: concurrency)
        _ = machine.wake(others)
        for queue in others { _ = machine.concluded(queue, .takenElsewhere) }
        machine.runAll(queues.map { QueueID(rawValue: $0) })
        return machine
    }

    /// Whether it asks to be the primary, while its handlers return and the next ones start.
    ///
    /// - Parameter waiting: How many wait for the writer, all but one if left out.
    private static func asks(
        _ machine: TestMachine,
        handlers: Int = 8,
        waiting: Int? = nil,
        from start: Duration = .zero,
        steps: Int = 60
    ) -> Bool {
        let waiting = waiting ?? handlers - 1
        var asks = false
        var running = (1...handlers).map { QueueID(rawValue: Int64($0)) }
        for step in 1...steps {
            let orders = running.prefix(waiting).compactMap { machine.finishing($0) }
            let time = start + PrimaryPlan.window * step / 30
            for _ in 0..<waiting where machine.asksToBePrimary(at: time) { asks = true }
            for queue in running.prefix(waiting) { _ = machine.settled(queue) }
            for order in orders { _ = machine.claim(order.queue) }
            running = Array(running.dropFirst(waiting)) + orders.map(\.queue)
            // What stands by claims nothing more.
            if asks || running.count < handlers { break }
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
        // It wakes when the line is as long as that.
        #expect(machine.timeReached(.seconds(7)) == [.perform(.findOverlooked)])
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

    @Test("G12: it notes no more queues than it has permits, and looks for the rest when the standby is over")
    func overlooks() throws {
        let machine = TestMachine(concurrency: 3)
        machine.runAll([1])
        _ = machine.standBy(for: .seconds(1), at: .zero)
        #expect(machine.wake([1, 2, 3]).isEmpty)
        #expect(machine.finish(1).decisions.isEmpty)
        #expect(machine.readyCount == 3 && machine.standing(5) == .free)
        for queue in 4...1_000 as ClosedRange<Int64> { _ = machine.wake([QueueID(rawValue: queue)]) }
        #expect(machine.readyCount == 3 && machine.phases.count == 3)
        #expect(machine.standing(5) == .standsBy)
        // A renewal does not look.
        _ = machine.standBy(for: .seconds(2), at: .seconds(1))
        #expect(machine.timeReached(.seconds(2)).isEmpty)
        #expect(machine.standBy(for: nil, at: .seconds(3)).claimed == [2, 3, 1])
        for queue in [1, 2, 3] as [QueueID] { #expect(machine.concluded(queue, .nothing).isEmpty) }
        #expect(!machine.isIdle)
        #expect(machine.workAhead == .now)
        #expect(machine.timeReached(.seconds(3)) == [.perform(.findOverlooked)])
        let look = try #require(machine.looksForOverlooked())
        #expect(machine.foundOverlooked(look) == [.becameIdle])
        // A line that was longer before is kept, and nothing was overlooked.
        machine.runAll((1...10).map { QueueID(rawValue: $0) })
        _ = machine.standBy(for: .seconds(1), at: .seconds(3))
        #expect(machine.readyCount == 7)
        _ = machine.standBy(for: nil, at: .seconds(3))
        #expect(machine.nextDeadline == nil)
    }

    @Test("G8, G12: a wait that is over keeps its place in a full line, and what is asked again is not noted")
    func fullLine() {
        let machine = Self.besideOthers(concurrency: 3, queues: 1...1)
        _ = machine.wake([2, 50])
        _ = machine.concluded(50, .unroutable)
        _ = machine.concluded(2, .waiting(wait(), until: .seconds(5)))
        _ = machine.standBy(for: .seconds(60), at: .zero)
        _ = machine.wake([3, 4, 5])
        #expect(machine.timeReached(.seconds(5)).isEmpty)
        #expect(machine.readyCount == 4)
        #expect(machine.askAgain(all: false).isEmpty)
        #expect(machine.readyCount == 4)
        let orders = machine.standBy(for: nil, at: .seconds(6)).orders
        #expect(orders.map(\.queue) == [3, 4])
        // What others had taken, or has no route, was not asked, and so not overlooked.
        #expect(machine.looksForOverlooked() == nil)
        _ = machine.wake([100])
        #expect(machine.concluded(3, .nothing).orders == [.init(queue: 5, waitedFor: nil)])
        #expect(machine.concluded(4, .nothing).orders == [.init(queue: 2, waitedFor: wait())])
        #expect(machine.concluded(5, .nothing).claimed == [100])
        #expect(machine.concluded(100, .nothing).isEmpty)
    }

    @Test("What was overlooked is claimed, and not what is behind a gate, a hold or a wait, or taken")
    func found() throws {
        let machine = TestMachine(concurrency: 8)
        let known: [(QueueID, Machine.Conclusion)] = [
            (1, .takenElsewhere), (2, .gated("gate")), (3, .unroutable), (4, .held),
            (5, .waiting(wait(), until: .seconds(60))),
        ]
        _ = machine.wake(known.map(\.0) + [6])
        for (queue, conclusion) in known { #expect(machine.concluded(queue, conclusion).isEmpty) }
        _ = machine.standBy(for: .seconds(1), at: .zero)
        _ = machine.wake((10..<20).map { QueueID(rawValue: $0) })
        #expect(machine.standBy(for: nil, at: .seconds(1)).claimed.count == 7)
        let look = try #require(machine.looksForOverlooked())
        for queue in (10..<17).map({ QueueID(rawValue: $0) }) { _ = machine.concluded(queue, .nothing) }
        let queues = (1..<8).map { QueueID(rawValue: $0) } + [18, 19]
        #expect(machine.wakeOverlooked(queues).claimed == [7, 18, 19])
        #expect(machine.foundOverlooked(look).isEmpty)
        #expect(machine.looksForOverlooked() == nil)
    }

    @Test("G11: what is overlooked while a look goes on, as it stands by again, needs another")
    func overlooksAgain() throws {
        let machine = TestMachine(concurrency: 1)
        _ = machine.standBy(for: .seconds(1), at: .zero)
        #expect(machine.wake([1, 2]).isEmpty)
        // Not while it stands by: the end of that asks for it.
        #expect(machine.looksForOverlooked() == nil)
        _ = machine.standBy(for: nil, at: .seconds(1))
        let look = try #require(machine.looksForOverlooked())
        _ = machine.standBy(for: .seconds(1), at: .seconds(1))
        #expect(machine.concluded(1, .nothing).isEmpty)
        #expect(machine.wakeOverlooked([2, 3]).isEmpty)
        #expect(machine.readyCount == 1 && machine.standing(3) == .standsBy)
        #expect(machine.foundOverlooked(look).isEmpty)
        #expect(machine.standBy(for: nil, at: .seconds(2)).claimed == [2])
        #expect(machine.timeReached(.seconds(2)) == [.perform(.findOverlooked)])
        let next = try #require(machine.looksForOverlooked())
        _ = machine.wakeOverlooked([3])
        _ = machine.foundOverlooked(next)
        #expect(machine.concluded(2, .nothing).claimed == [3])
        #expect(machine.concluded(3, .nothing) == [.becameIdle])
    }

    @Test("What a look at the file has found does not undo what a commit has told since")
    func mark() {
        let machine = Self.crowded()
        _ = machine.standBy(for: .seconds(1), at: .zero)
        _ = machine.standBy(for: .seconds(1), at: .seconds(1))
        #expect(machine.standBy(for: nil, at: .seconds(1), insteadOf: .seconds(1)).isEmpty)
        #expect(machine.standing(9) == .standsBy)
        #expect(machine.standBy(for: .seconds(2), at: .seconds(2), insteadOf: .seconds(2)).isEmpty)
        #expect(machine.nextDeadline == .seconds(4))
        _ = machine.finish(1)
        #expect(machine.standBy(for: nil, at: .seconds(4), insteadOf: .seconds(4)).claimed == [9])
    }

    @Test("It asks when permits wait for the writer, and queues for permits")
    func asks() {
        #expect(Self.asks(Self.crowded()))
    }

    @Test("G9: the primary asks for what others had taken too, though it has no permit left")
    func taken() {
        // A line so long that none of the others' is reached.
        let machine = Self.besideOthers(concurrency: 8, queues: 1...99)
        let count = machine.readyCount
        #expect(machine.askAgain(all: false).isEmpty)
        #expect(machine.readyCount == count)
        #expect(Self.asks(machine))
        // Some at once, and all with the next look at the others.
        #expect(machine.readyCount == count + 8)
        #expect(machine.askAgain(all: false, at: .seconds(60)).isEmpty)
        #expect(machine.readyCount == count + 8)
        #expect(machine.askAgain(all: false, at: PrimaryPlan.window * 2).isEmpty)
        #expect(machine.readyCount == count + Self.others.count)
    }

    /// What has become of a process that was the primary.
    enum Since: CaseIterable { case nothing, standsBy, termOver }

    @Test("G9: a free queue with work has the primary try the next one at once", arguments: Since.allCases)
    func left(_ since: Since) {
        let machine = Self.besideOthers(concurrency: 40)
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
        let machine = Self.besideOthers(concurrency: 40)
        #expect(Self.asks(machine))
        #expect(Self.others.filter { machine.phases[$0] != nil } == Array(Self.others.prefix(8)))
        // One that is free has the next one tried, and one that is taken still has not.
        _ = machine.concluded(100, .nothing)
        #expect(machine.phases[108] != nil)
        _ = machine.concluded(101, .takenElsewhere)
        #expect(machine.phases[109] == nil)
    }

    @Test("What counts is the part of the permits in use, not of all it has", arguments: [3, 5])
    func permitsInUse(waiting: Int) {
        let machine = TestMachine(concurrency: 20)
        machine.runAll((1...8).map { QueueID(rawValue: $0) })
        _ = machine.wake([100])
        _ = machine.concluded(100, .takenElsewhere)
        // In handlers are 5 and 3 of 8.
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
        for isThere in [true, false] {
            let machine = TestMachine(concurrency: 8)
            _ = machine.wake([100])
            _ = machine.concluded(100, isThere ? .unroutable : .nothing)
            machine.runAll((1..<100).map { QueueID(rawValue: $0) })
            #expect(machine.wake([100]).isEmpty)
            // Its turn comes with the thirteenth.
            #expect(Self.asks(machine, steps: 12) != isThere)
        }
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

    @Test("G9: nor while another process runs such a queue, until there is a route for it here")
    func unroutableTaken() {
        for hasRoute in [false, true] {
            let machine = TestMachine(concurrency: 8)
            _ = machine.wake([100])
            _ = machine.concluded(100, .unroutable)
            _ = machine.wake([100])
            _ = machine.concluded(100, .takenElsewhere)
            if hasRoute { _ = machine.routesChanged() }
            machine.runAll((1...20).map { QueueID(rawValue: $0) })
            #expect(Self.asks(machine) == hasRoute)
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
            // So that what outcomes show is added up from here on.
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
        // More than it notes.
        _ = machine.wake((100...120).map { QueueID(rawValue: $0) })
        _ = machine.stop()
        #expect(machine.finish(1).decisions == [.stopped])
        machine.start()
        #expect(machine.isIdle)
        machine.runAll((1...20).map { QueueID(rawValue: $0) })
        #expect(Self.asks(machine))
    }
}
