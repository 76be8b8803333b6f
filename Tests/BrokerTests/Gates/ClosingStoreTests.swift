import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Two stores on one file, which stand for two processes.
@Suite("Closings in the file", .watched) struct ClosingStoreTests {
    private let file: TemporaryFile
    private let clock = ManualClock()
    private let a: StoreFixture
    private let b: StoreFixture

    init() async throws {
        file = try TemporaryFile()
        a = try await .process(1, on: file, clock: clock)
        b = try await .process(2, on: file, clock: clock)
    }

    private var end: Timestamp? {
        get async throws { try await a.store.gates().first?.opensAt.map { Timestamp($0) } }
    }

    @Test("G11: a gate that one process has closed is opened by another at its time, spread in both")
    func otherOpens() async throws {
        try await a.store.setGate("server", isOpen: true, isPersistent: true, spread: .zero)
        try await a.store.add("x")
        let busy = Settlement.retry(after: .seconds(30), untilOpen: "server", closes: true, error: "429")
        try await a.store.settle(try await a.store.take(), busy)
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.compactMap(\.endsAt).last == clock.now + .seconds(30))
        #expect(try await b.store.claim().word == "gated")
        clock.advance(by: .seconds(29))
        try await b.store.endControls()
        #expect(try await b.store.claim().word == "gated")
        clock.advance(by: .seconds(1))
        try await b.store.endControls()
        let opening = GateOpening(gate: "server", spread: .seconds(3))
        #expect(b.commits.elements.flatMap(\.openings).last == opening)
        try await a.store.readForeignChanges()
        #expect(a.commits.elements.flatMap(\.openings).last == opening)
        #expect(try await a.store.take().number == 2)
    }

    @Test("The outcome of a cancelled action closes its gate all the same")
    func cancelled() async throws {
        try await a.store.setGate("server", isOpen: true, isPersistent: true, spread: .zero)
        try await a.store.add("x")
        let taken = try await a.store.take()
        #expect(try await a.store.cancel(taken.receipt.action) == .deferred)
        let busy = Settlement.release(after: .seconds(30), untilOpen: "server", closes: true)
        #expect(try await a.store.settle(taken, busy).0 == .removed)
        try await #expect(end == clock.now + .seconds(30))
    }

    @Test("Of two ends the later counts; a gate that was closed without an end stays closed")
    func ends() async throws {
        let start = clock.now
        try await a.store.closeGate("g", isPersistent: true, for: .seconds(30))
        try await #expect(end == start + .seconds(30))
        try await b.store.closeGate("g", isPersistent: true, for: .seconds(10))
        try await #expect(end == start + .seconds(30))
        try await b.store.closeGate("g", isPersistent: true, for: .seconds(60))
        try await #expect(end == start + .seconds(60))
        try await a.store.setGate("g", isOpen: false, isPersistent: true, spread: .zero)
        try await a.store.closeGate("g", isPersistent: true, for: .seconds(10))
        try await #expect(end == nil)
        clock.advance(by: .seconds(100))
        try await a.store.endControls()
        #expect(try await a.store.gates().map(\.isOpen) == [false])
    }

    @Test("Somebody who opens the gate ends the closing; nothing opens it again then")
    func openedEarly() async throws {
        try await a.store.closeGate("g", isPersistent: true, for: .seconds(30))
        try await b.store.setGate("g", isOpen: true, isPersistent: true, spread: .zero)
        try await #expect(end == nil)
        try await b.store.setGate("g", isOpen: false, isPersistent: true, spread: .zero)
        clock.advance(by: .seconds(30))
        try await a.store.endControls()
        #expect(try await a.store.gates().map(\.isOpen) == [false])
    }

    @Test("A gate with a row keeps its owner; a new one stays if it is to be kept")
    func owner() async throws {
        try await a.store.setGate("own", isOpen: true, isPersistent: false, spread: .zero)
        for gate in ["own", "new"] as [GateName] {
            try await a.store.closeGate(gate, isPersistent: true, for: .seconds(30))
        }
        #expect(try await a.store.gates().map(\.isPersistent) == [true, false])
    }

    @Test("G8: a wall clock that was set back does not prolong a closing")
    func clockBack() async throws {
        try await a.store.closeGate("g", isPersistent: true, for: .seconds(30))
        clock.advance(by: .seconds(10))
        clock.jumpWall(by: .seconds(-3_600))
        try await a.store.endControls()
        try await #expect(end == clock.now + .seconds(20))
        clock.advance(by: .seconds(20))
        try await a.store.endControls()
        #expect(try await a.store.gates().map(\.isOpen) == [true])
    }

    @Test("G8: a process that did not run before the clock was set back opens the gate after its whole time")
    func clockBackElsewhere() async throws {
        try await a.store.closeGate("g", isPersistent: true, for: .seconds(30))
        clock.advance(by: .seconds(10))
        clock.jumpWall(by: .seconds(-3_600))
        try await b.store.endControls()
        try await #expect(end == clock.now + .seconds(30))
        clock.advance(by: .seconds(30))
        try await b.store.endControls()
        #expect(try await a.store.gates().map(\.isOpen) == [true])
    }

    @Test("The spread is a tenth of the closing, a second at least and a minute at most")
    func spread() {
        for (length, spread) in [(1, 1), (10, 1), (30, 3), (600, 60), (36_000, 60)] {
            let opening = GateOpening(of: "g", closedFor: .seconds(length))
            #expect(opening.spread == .seconds(spread))
        }
        #expect(GateOpening(of: "g", closedFor: nil).spread == .zero)
    }
}
