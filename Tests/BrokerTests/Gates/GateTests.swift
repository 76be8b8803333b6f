import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Gates", .watched) struct GateTests {
    private static func gated(_ gates: GateName...) -> RouteOptions {
        var options = RouteOptions(retry: .fixed(.seconds(10)))
        options.gates = gates
        return options
    }

    @Test(
        "No attempt is spent on a closed gate, and opening it starts all that wait",
        arguments: QueueStorage.allCases
    )
    func opening(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self, Self.gated("network")) { note, _ in
            log.append(note.text)
            return .success
        }
        let texts = (0..<200).map { "\($0)" }
        try await broker.enqueue(texts.map { Note($0, in: "q/\($0)") })
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(broker.statistics.started == 0)
            try await broker.openGate("another")
            await broker.waitUntilIdle()
            #expect(broker.statistics.started == 0)
            try await broker.openGate("network")
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements) == Set(texts))
        try await #expect(broker.gates().map(\.name) == ["another", "network"])
        await broker.close()
    }

    @Test("All gates of a route must be open; closing one stops what follows, not what runs")
    func closing() async throws {
        let broker = try await Site(.memory).broker()
        let (log, goOn) = (EventLog<String>(), Signal())
        try broker.route("*", Note.self, Self.gated("network", "account:42")) { note, _ in
            log.append("began \(note.text)")
            try await goOn.received()
            log.append("ended \(note.text)")
            return .success
        }
        try await broker.openGate("network")
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(log.elements.isEmpty)
            try await broker.openGate("account:42")
            _ = try await log.wait(forCount: 1)
            try await broker.closeGate("network")
            goOn.send()
            await broker.waitUntilIdle()
            #expect(log.elements == ["began a", "ended a"])
            try await broker.openGate("network")
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["began a", "ended a", "began b", "ended b"])
        await broker.close()
    }

    @Test("An action with a gate of its own waits for it, and what stands behind it too (G4)")
    func ofAction() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue([Note("a"), Note("b")])
        try site.shell("UPDATE sluice_actions SET gate = 'consent' WHERE id = 1")
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(log.elements.isEmpty)
            try await broker.openGate("consent")
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        await broker.close()
    }

    @Test("A retry when a gate opens waits for the gate alone, spends its attempt, and blocks the queue")
    func retryWhenOpen() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 && note.text == "a" ? .retry(whenOpen: "network") : .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(log.elements == ["a 1"])
            // It overrides no gate.
            try await broker.retryNow()
            await broker.waitUntilIdle()
            #expect(log.elements == ["a 1"])
            try await broker.openGate("network")
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 2", "b 1"])
        await broker.close()
    }

    @Test(
        "G11: a gate that opens during the attempt counts: it is tried again at once",
        arguments: [false, true]
    )
    func openedMeanwhile(_ isClosedAgain: Bool) async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<Int>()
        try await broker.openGate("network")
        try await broker.closeGate("network")
        try broker.route("*", Note.self, retrying(.fixed(.seconds(10)))) { _, attempt in
            log.append(attempt.number)
            guard attempt.number == 1 else { return .success }
            try await broker.openGate("network")
            if isClosedAgain { try await broker.closeGate("network") }
            return .retry(whenOpen: "network")
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            if isClosedAgain {
                // Level, not edge: it is closed when the attempt ends.
                await broker.waitUntilIdle()
                #expect(log.elements == [1])
                try await broker.openGate("network")
            }
            // The clock stands still.
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == [1, 2])
        await broker.close()
    }

    @Test(
        "A retry when a gate opens that was open all the time waits as long as the policy says",
        arguments: [false, true]
    )
    func openAllTheTime(isOpenedAgain: Bool) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<Int>()
        try await broker.openGate("network")
        try broker.route("*", Note.self, retrying(.fixed(.seconds(10)))) { _, attempt in
            log.append(attempt.number)
            // To open an open gate is no opening.
            if isOpenedAgain { try await broker.openGate("network") }
            return attempt.number == 1 ? .retry(whenOpen: "network") : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await site.clock.waitForSleeper(untilUptime: site.clock.uptime + .seconds(10))
            #expect(log.elements == [1])
            site.clock.advance(by: .seconds(10))
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        await broker.close()
    }

    @Test("A release until a gate opens spends no attempt; a restart ends its wait as well")
    func release() async throws {
        let site = try Site()
        let log = EventLog<Int>()
        for isRestarted in [false, true] {
            let broker = try await site.broker { $0.file.durability = .everything }
            try broker.route("*", Note.self) { _, attempt in
                log.append(attempt.number)
                return log.elements.count == 1 ? .release(untilOpen: "network") : .success
            }
            if !isRestarted { try await broker.enqueue(Note("a")) }
            try await running(broker) { await broker.waitUntilIdle() }
            #expect(log.elements == (isRestarted ? [1, 1] : [1]))
            await broker.close()
        }
    }

    @Test("G8: a gate that is kept stays open over a restart, another one is closed then")
    func restart() async throws {
        let site = try Site()
        for isRestarted in [false, true] {
            let broker = try await site.broker()
            if !isRestarted {
                try await broker.openGate("kept", isPersistent: true)
                try await broker.openGate("lost")
            }
            // To run is no restart.
            try await running(broker) { await broker.waitUntilIdle() }
            let open = try await broker.gates().filter(\.isOpen).map(\.name)
            #expect(open == (isRestarted ? ["kept"] : ["kept", "lost"]))
            await broker.close()
        }
    }

    @Test("G8: to open an open gate again does not end its keeping, and can begin it; to close it ends it")
    func keptTwice() async throws {
        let site = try Site()
        let first = try await site.broker()
        for (gate, isPersistent) in [("a", [true, false]), ("b", [false, true]), ("c", [true, true])] {
            for isPersistent in isPersistent {
                try await first.openGate(GateName(gate), isPersistent: isPersistent)
            }
        }
        try await first.closeGate("c")
        try await first.openGate("c")
        await first.close()
        let broker = try await site.broker()
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.gates().filter(\.isOpen).map(\.name) == ["a", "b"])
        await broker.close()
    }

    @Test("To open an open gate wakes nobody and is no opening")
    func openTwice() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try await broker.openGate("network")
        let before = try await broker.gates()
        site.clock.advance(by: .seconds(5))
        try await broker.openGate("network")
        try await #expect(broker.gates() == before)
        try await broker.closeGate("network")
        try await #expect(broker.gates().first?.since == before.first?.since.addingTimeInterval(5))
        await broker.close()
    }

    @Test("An opening can be spread, so that those who wait do not start all at once")
    func spread() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self, Self.gated("network")) { note, _ in
            log.append(note.text)
            return .success
        }
        try await broker.enqueue(["a", "b", "c"].map { Note($0, in: "q/\($0)") })
        try await running(broker) {
            await broker.waitUntilIdle()
            let start = site.clock.uptime
            try await broker.openGate("network", spread: .seconds(30))
            for number in 1...3 {
                _ = try await log.wait(forCount: number)
                #expect(log.elements.count == number)
                guard number < 3 else { break }
                let next = start + .seconds(10) * number
                try await site.clock.waitForSleeper(untilUptime: next)
                site.clock.advance(by: next - site.clock.uptime)
            }
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements) == ["a", "b", "c"])
        await broker.close()
    }

    @Test(
        "A name outside its limits is refused",
        arguments: ["", "a\0b", String(repeating: "g", count: 256)]
    )
    func names(_ name: String) async throws {
        let broker = try await Site(.memory).broker()
        let gate = GateName(name)
        await #expect(refusal { try await broker.openGate(gate) } == .invalidGate)
        await #expect(refusal { try await broker.closeGate(gate) } == .invalidGate)
        await #expect(
            refusal { try broker.route("*", Note.self, Self.gated(gate)) { _, _ in .success } }
                == .invalidGate
        )
        await broker.close()
    }
}
