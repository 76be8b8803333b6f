import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler beside other processes", .watched) struct SchedulerTakenTests {
    /// A machine whose queues other processes have taken, in their order.
    private static func taken(_ queues: QueueID..., concurrency: Int = 2) -> TestMachine {
        let machine = TestMachine(concurrency: concurrency)
        for queue in queues {
            _ = machine.wake([queue])
            _ = machine.concluded(queue, .takenElsewhere)
        }
        return machine
    }

    @Test("What others have taken costs no permit, and is waited for")
    func costs() {
        let machine = Self.taken(1, 2)
        #expect(machine.phases.isEmpty)
        #expect(!machine.isIdle)
        #expect(machine.wake([3, 4]).claimed == [3, 4])
    }

    @Test("It is asked for again in turn, as often as there are permits")
    func inTurn() {
        let machine = Self.taken(1, 2, 3)
        #expect(machine.askAgain(all: false).claimed == [1, 2])
        _ = machine.concluded(1, .takenElsewhere)
        _ = machine.claim(2)
        #expect(machine.askAgain(all: false).claimed == [3])
        #expect(machine.askAgain(all: false).isEmpty)
        #expect(machine.concluded(3, .takenElsewhere).isEmpty)
        #expect(machine.askAgain(all: false).claimed == [1])
        #expect(machine.concluded(1, .empty).claimed == [3])
        #expect(machine.concluded(3, .empty).isEmpty)
        #expect(machine.finish(2).order?.queue == 2)
        #expect(machine.concluded(2, .empty) == [.becameIdle])
        #expect(machine.isIdle)
    }

    @Test("Each that is found free has the next asked for, and one that is still taken does not")
    func oneByOne() {
        let machine = Self.taken(1, 2, 3, 4, 5, 6)
        #expect(machine.askAgain(all: false).claimed == [1, 2])
        #expect(machine.concluded(1, .empty).claimed == [3])
        // Its work is done here first.
        _ = machine.claim(2)
        #expect(machine.finish(2).order?.queue == 2)
        #expect(machine.concluded(2, .empty).claimed == [4])
        #expect(machine.concluded(3, .takenElsewhere).isEmpty)
        #expect(machine.concluded(4, .held(.never)).claimed == [5])
        #expect(machine.concluded(5, .takenElsewhere).isEmpty)
        // One that came by itself says nothing of the others.
        #expect(machine.wake([7]).claimed == [7])
        #expect(machine.concluded(7, .empty).isEmpty)
        #expect(!machine.isIdle)
        #expect(machine.askAgain(all: false).claimed == [6, 3])
        #expect(machine.concluded(6, .empty).claimed == [5])
        #expect(machine.concluded(3, .empty).isEmpty)
        #expect(machine.concluded(5, .empty) == [.becameIdle])
    }

    @Test("G9: one whose claim waits has none asked for until it has been made")
    func refused() {
        let machine = Self.taken(1, 2, 3)
        #expect(machine.askAgain(all: false).claimed == [1, 2])
        #expect(machine.concluded(1, .waiting(wait(), until: .seconds(1))).isEmpty)
        #expect(machine.concluded(2, .waiting(wait(), until: .seconds(1))).isEmpty)
        #expect(machine.timeReached(.seconds(1)).claimed == [1, 2])
        #expect(machine.concluded(1, .unfinished).claimed == [1])
        #expect(machine.concluded(1, .empty).claimed == [3])
    }

    @Test("One that was woken meanwhile is not asked for twice")
    func woken() {
        let machine = Self.taken(1)
        for _ in 0..<200 {
            #expect(machine.wake([1]).claimed == [1])
            _ = machine.concluded(1, .takenElsewhere)
        }
        #expect(machine.wake([1]).claimed == [1])
        #expect(machine.concluded(1, .empty) == [.becameIdle])
        #expect(machine.askAgain(all: true).isEmpty || machine.isIdle)
    }

    @Test("All are asked for again when the others have gone, and a machine that stops asks for none")
    func all() {
        let machine = Self.taken(1, 2, 3, concurrency: 1)
        #expect(machine.askAgain(all: true).claimed == [1])
        #expect(machine.concluded(1, .empty).claimed == [2])
        #expect(machine.concluded(2, .empty).claimed == [3])
        #expect(machine.concluded(3, .takenElsewhere).isEmpty)
        #expect(machine.stop() == [.stopped])
        #expect(machine.askAgain(all: true).isEmpty)
    }

    @Test("G11: a wake during a claim that finds its queue taken has it claimed again")
    func whileClaiming() {
        let machine = TestMachine()
        #expect(machine.wake([1]).claimed == [1])
        #expect(machine.wake([1]).isEmpty)
        #expect(machine.concluded(1, .takenElsewhere).claimed == [1])
    }
}
