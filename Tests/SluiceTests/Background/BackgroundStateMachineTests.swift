import Foundation
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceBackground

@Suite("Background Operations: the rules", .watched) struct BackgroundStateMachineTests {
    private func machine(in state: BackgroundState) throws -> BackgroundStateMachine {
        var machine = BackgroundStateMachine()
        for event in BackgroundTable.path(to: state) { _ = machine.handle(event) }
        try #require(machine.state == state)
        return machine
    }

    @Test(
        "Each event does in each state what the documentation's table says, and nothing where it has no row",
        arguments: BackgroundState.allCases
    )
    func transitions(state: BackgroundState) throws {
        let table = try BackgroundTable()
        for (name, events) in BackgroundTable.events {
            let before = try machine(in: state)
            for event in events(before.lastStop) {
                var machine = before
                let effects = machine.handle(event).map(BackgroundTable.word)
                let found = BackgroundTable.Transition(next: machine.state, effects: effects)
                #expect(found == table[state, name], "\(state) \(event)")
            }
        }
        #expect(table.count == 38)
    }

    @Test("Work in progress is no rest, whoever says so", arguments: BackgroundState.allCases)
    func noRest(state: BackgroundState) throws {
        for work in [RemainingWork.now, .later(.zero), .later(.seconds(5))] {
            var machine = try machine(in: state)
            #expect(machine.handle(.rested(work)) == [])
            #expect(machine.state == state)
        }
    }

    @Test(
        "The end of an earlier stop is not taken for that of a later one",
        arguments: BackgroundState.allCases
    )
    func lateEnds(state: BackgroundState) throws {
        for work in [RemainingWork.none, .now] {
            var machine = try machine(in: state)
            let number = machine.lastStop
            for late in [number - 1, number + 1] { #expect(machine.handle(.stopped(late, work)) == []) }
            #expect(machine.state == state)
        }
        var twice = try machine(in: .leaving)
        #expect(twice.handle(.enteredForeground) == [.run])
        #expect(twice.handle(.leftForeground(.none)) == [.stop(2)])
        #expect(twice.handle(.stopped(1, .none)) == [])
        #expect(twice.handle(.stopped(2, .none)) == [] && twice.state == .asleep)
    }

    @Test(
        "What comes while a stop is under way has processing time asked for, though the stop leaves nothing",
        arguments: [BackgroundState.leaving, .endingExtension, .endingProcessing]
    )
    func comesMeanwhile(state: BackgroundState) throws {
        var machine = try machine(in: state)
        let number = machine.lastStop
        #expect(machine.handle(.workCame(.later(.seconds(90)))) == [])
        let effects = machine.handle(.stopped(number, .none))
        #expect(effects.first == .requestProcessing(after: .seconds(90)))
        // It is not asked for twice.
        #expect(machine.handle(.enteredForeground) == [.cancelRequest, .run])
        #expect(machine.handle(.leftForeground(.none)) == [.stop(number + 1)])
        #expect(machine.handle(.stopped(number + 1, .none)) == [] && machine.state == .asleep)
    }

    @Test("Processing time is asked for no earlier than a minute from now, nor before what is left is due")
    func delays() throws {
        for (work, seconds) in [
            (RemainingWork.now, 60), (.later(.seconds(30)), 60), (.later(.seconds(90)), 90),
        ] {
            var machine = try machine(in: .leaving)
            #expect(machine.handle(.stopped(1, work)) == [.requestProcessing(after: .seconds(seconds))])
        }
    }

    @Test("No wait is worth more time than is left, where that is known; the next time knows it anew")
    func timeLeft() throws {
        var machine = try machine(in: .processing)
        machine.timeLeft = .seconds(4)
        #expect(machine.handle(.rested(.later(.seconds(4)))) == [])
        #expect(machine.handle(.rested(.later(.seconds(5)))) == [.stop(1)])
        #expect(machine.handle(.enteredForeground) == [.endProcessing(isDone: false), .run])
        #expect(machine.handle(.leftForeground(.later(.seconds(5)))) == [.beginExtension])
    }

    @Test("In whatever order things happen, one thing of the system's is held at most, as the state says")
    func invariants() {
        // Where time began that was asked for, or had been.
        var begun: Set<BackgroundState> = []
        // All that there is: what comes next goes by these two, and by the number of the stop alone.
        var known: Set<Situation> = []
        var left = [(machine: BackgroundStateMachine(), system: HeldResources())]
        while let (machine, system) = left.popLast() {
            guard known.insert(Situation(state: machine.state, system: system)).inserted else { continue }
            for event in BackgroundTable.events.flatMap({ $0.make(machine.lastStop) }) {
                guard system.canHappen(event, in: machine.state) else { continue }
                if event == .processingBegan { begun.insert(machine.state) }
                var (machine, next) = (machine, system)
                // What the system gives is there before anybody is told.
                next.take(event)
                for effect in machine.handle(event) { next.take(effect) }
                #expect(next.isFaultless, "\(event) led from \(system) to \(next)")
                #expect(
                    next.fits(machine.state),
                    "\(event) led from \(system) to \(next) in \(machine.state)"
                )
                left.append((machine, next))
            }
        }
        // Also beside an extension, where a request was taken back too late.
        let others: Set<BackgroundState> = [.processing, .endingProcessing]
        #expect(begun == Set(BackgroundState.allCases).subtracting(others))
        #expect(Set(known.map(\.state)) == Set(BackgroundState.allCases))
    }

    @Test("The drawing has an arrow for each change of state but those that all states share")
    func drawing() throws {
        let table = try BackgroundTable()
        var expected: Set<String> = []
        for state in BackgroundState.allCases {
            for (name, _) in BackgroundTable.events where !["enteredForeground", "ended"].contains(name) {
                let next = table[state, name].next
                if next != state { expected.insert("\(state.rawValue): \(name): \(next.rawValue)") }
            }
        }
        let url = BackgroundTable.folder.appendingPathComponent("Resources/background-states.svg")
        let drawing = try String(contentsOf: url, encoding: .utf8)
        let drawn = drawing.components(separatedBy: "<title>").dropFirst().compactMap {
            $0.components(separatedBy: "</title>").first
        }
        #expect(Set(drawn) == expected)
        for state in BackgroundState.allCases {
            #expect(drawing.contains(">\(state.rawValue)</text>"))
            // The arrows that are not drawn are the same everywhere.
            #expect(table[state, "enteredForeground"].next == .foreground)
            let afterEnd = table[state, "ended"].next
            #expect(afterEnd == (state == .awaitingProcessing ? .awaitingProcessing : .asleep))
        }
    }
}

private struct Situation: Hashable {
    let state: BackgroundState
    let system: HeldResources
}

/// What the system has given, and what it has been asked for.
private struct HeldResources: Hashable, CustomStringConvertible {
    private var hasExtension = false
    private var hasProcessing = false
    /// At first one may stand that an earlier process has made.
    private var hasRequest = true
    /// A request was taken back, and the system may be about to give what it asked for.
    private var mayComeLate = false
    private var hasFault = false

    var description: String {
        "extension \(hasExtension), processing \(hasProcessing), request \(hasRequest), fault \(hasFault)"
    }

    var isFaultless: Bool {
        !hasFault && [hasExtension, hasProcessing, hasRequest].count { $0 } <= 1
    }

    /// Whether what is held is what the state says.
    func fits(_ state: BackgroundState) -> Bool {
        hasExtension == (state == .extended || state == .endingExtension)
            && hasProcessing == (state == .processing || state == .endingProcessing)
            && (hasRequest ? state == .awaitingProcessing : true)
    }

    func canHappen(_ event: BackgroundStateMachine.Event, in state: BackgroundState) -> Bool {
        switch event {
        case .extensionExpired: hasExtension
        // The answer to the question.
        case .extensionRefused: state == .extended
        // The system gives processing time to who has asked, and not twice.
        case .processingBegan: (hasRequest || mayComeLate) && !hasProcessing
        case .processingExpired: hasProcessing
        default: true
        }
    }

    mutating func take(_ event: BackgroundStateMachine.Event) {
        switch event {
        case .processingBegan: (hasRequest, mayComeLate, hasProcessing) = (false, false, true)
        case .extensionRefused: hasExtension = false
        case .requestRefused: hasRequest = false
        default: break
        }
    }

    mutating func take(_ effect: BackgroundStateMachine.Effect) {
        switch effect {
        case .run, .stop: break
        case .beginExtension:
            hasFault = hasFault || hasExtension || hasProcessing || hasRequest
            hasExtension = true
        case .endExtension:
            hasFault = hasFault || !hasExtension
            hasExtension = false
        case .requestProcessing:
            hasRequest = true
        case .cancelRequest:
            mayComeLate = hasRequest
            hasRequest = false
        case .endProcessing:
            hasFault = hasFault || !hasProcessing
            hasProcessing = false
        }
    }
}
