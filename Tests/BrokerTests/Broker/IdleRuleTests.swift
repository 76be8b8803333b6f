import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What both forms of waitUntilIdle wait for", .watched)
struct IdleRuleTests {
    /// What the only action of a queue waits for; if that stands aside, the queue has no next action.
    enum Standstill: CaseIterable {
        case retry, schedule, hold, gate, gateAside, expiry
        case endlessHold, endlessGate, endlessGateAside, parking

        /// The number of attempts after which nothing is left that ends by itself.
        var attempts: Int {
            switch self {
            case .retry, .gateAside: 2
            case .schedule, .hold, .gate, .endlessGateAside, .parking: 1
            case .endlessHold, .endlessGate, .expiry: 0
            }
        }

        var discipline: QueueDiscipline {
            self == .gateAside || self == .endlessGateAside ? .passOver : .firstInFirstOut
        }

        func outcome(_ attempt: Int) -> Outcome {
            switch (self, attempt) {
            case (.retry, 1): .retry(after: .seconds(9))
            case (.gateAside, 1), (.endlessGateAside, 1): .retry(whenOpen: "server")
            case (.parking, _): .halt("broken")
            default: .success
            }
        }
    }

    @Test(
        "They wait for what ends by itself, and for nothing else",
        arguments: QueueStorage.allCases,
        Standstill.allCases
    )
    func rule(_ place: QueueStorage, _ standstill: Standstill) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let (log, ends) = (EventLog<Int>(), EventLog<Int>())
        try broker.configure("notes", QueueOptions(discipline: standstill.discipline))
        try broker.route("notes", Note.self) { _, attempt in
            log.append(attempt.number)
            return standstill.outcome(attempt.number)
        }
        var options = EnqueueOptions()
        switch standstill {
        case .schedule: options.notBefore = (site.clock.now + .seconds(9)).date
        case .hold: try await broker.hold("notes", by: "test", for: .seconds(9))
        case .endlessHold: try await broker.hold("notes", by: "test")
        case .gate, .endlessGate: options.gate = "server"
        case .expiry: (options.gate, options.expiresAt) = ("server", (site.clock.now + .seconds(9)).date)
        default: break
        }
        if standstill == .gate || standstill == .gateAside {
            try await broker.closeGate("server", for: .seconds(9))
        }
        try await broker.enqueue(Note("a"), options)
        try await running(broker) {
            let ofBroker = Task {
                await broker.waitUntilIdle()
                ends.append(log.elements.count)
            }
            let ofQueue = Task {
                try await broker.waitUntilIdle("notes")
                ends.append(log.elements.count)
            }
            try await until { !ends.elements.isEmpty || areWaiting(broker) }
            try await until {
                let isOver =
                    try await standstill == .expiry
                    ? broker.deadLetters().count == 1 : log.elements.count == standstill.attempts
                if !isOver { site.clock.advance(by: .seconds(1)) }
                return isOver
            }
            await ofBroker.value
            try await ofQueue.value
        }
        #expect(ends.elements == [standstill.attempts, standstill.attempts])
        await broker.close()
    }

    /// Whether both forms wait, and nothing moves before a time.
    private func areWaiting(_ broker: Broker) -> Bool {
        broker.fileEngine.isAtRest(butFor: 0)
            && broker.fileEngine.life.withLock { $0.hasLookedAround && $0.restWaiters.count == 2 }
    }
}
