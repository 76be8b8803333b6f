import Logging
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What somebody has probably forgotten", .watched) struct OversightTests {
    private let lines = EventLog<String>()

    @Test("A route that meets no queue, queues without a route and a gate nobody opens are warned of once")
    func warned() async throws {
        let site = try Site()
        let lines = lines
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
        try broker.route("mial/*", Note.self) { _, _ in .success }
        try broker.route("gated", Note.self) { _, _ in .success }
        for number in 0..<200 { try await broker.enqueue(Note("a", in: QueueName("mail/\(number)"))) }
        try await broker.enqueue(Note("b", in: "gated"), EnqueueOptions(gate: "netwrok"))
        try await running(broker) {
            for _ in 0..<3 {
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
                site.clock.advance(by: Oversights.delay)
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
                try await broker.enqueue(Note("c", in: "mail/0"))
                try await broker.enqueue(Note("d", in: "gated"), EnqueueOptions(gate: "netwrok"))
            }
        }
        func count(_ text: String) -> Int { lines.elements.filter { $0.contains(text) }.count }
        #expect(count("no route for the queue") == 1, "\(lines.elements)")
        #expect(count("no route for other queues") == 1 && count("count=199") == 1, "\(lines.elements)")
        #expect(count("no queue matches a route") == 1 && count("pattern=mial/*") == 1, "\(lines.elements)")
        #expect(count("a gate that nobody has opened") == 1, "\(lines.elements)")
        #expect(count("gate=netwrok") == 1, "\(lines.elements)")
        await broker.close()
    }

    @Test(
        "Also where actions that wait are passed over",
        arguments: [QueueDiscipline.concurrent(2), .passOver, .lastInFirstOut]
    )
    func deferred(discipline: QueueDiscipline) async throws {
        let site = try Site()
        let lines = lines
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
        try broker.configure("*", QueueOptions(discipline: discipline))
        try broker.route("*", Note.self) { _, _ in .success }
        try await running(broker) {
            // One is there at the start, another one comes later, after the first report.
            for gate in ["netwrok", "acount"] {
                try await broker.enqueue(Note("a", in: "gated"), EnqueueOptions(gate: GateName(gate)))
                try await broker.enqueue(Note("b", in: "gated"))
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
                site.clock.advance(by: Oversights.delay)
                try await until { lines.elements.contains { $0.contains("gate=\(gate)") } }
            }
        }
        let gates = lines.elements.filter { $0.contains("a gate that nobody has opened") }
        #expect(gates.count == 2, "\(lines.elements)")
        await broker.close()
    }

    @Test("A gate that is opened soon, and routes that are added soon, are not")
    func inTime() async throws {
        let site = try Site()
        let lines = lines
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
        try broker.route("gated", Note.self) { _, _ in .success }
        try await broker.enqueue(Note("b", in: "gated"), EnqueueOptions(gate: "network"))
        try await running(broker) {
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            try await broker.openGate("network")
            site.clock.advance(by: Oversights.delay)
            try await until { broker.fileEngine.isAtRest(butFor: 0) && broker.statistics.succeeded == 1 }
        }
        #expect(lines.elements.isEmpty, "\(lines.elements)")
        await broker.close()
    }

    @Test("A gate that only queues of other programs wait for is not")
    func others() async throws {
        let site = try Site()
        let lines = lines
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
        try broker.route("gated", Note.self) { _, _ in .success }
        try await broker.enqueue(Note("a", in: "other"), EnqueueOptions(gate: "of others"))
        try await broker.enqueue(Note("b", in: "gated"), EnqueueOptions(gate: "netwrok"))
        try await running(broker) {
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            site.clock.advance(by: Oversights.delay)
            try await until { lines.elements.contains { $0.contains("gate=netwrok") } }
        }
        #expect(
            !lines.elements.contains { $0.contains("of others") || $0.contains("count=") },
            "\(lines.elements)"
        )
        await broker.close()
    }

    @Test(
        "Queues without a route are told of in each run, also by a broker without routes",
        arguments: [0, 1]
    )
    func everyRun(routes: Int) async throws {
        let site = try Site()
        for run in 0..<3 {
            let lines = EventLog<String>()
            let broker = try await site.broker { $0.logger = .keeping(lines, from: .warning) }
            if routes == 1 { try broker.route("mail/*", Photo.self) { _, _ in .success } }
            if run == 0 { try await broker.enqueue([Note("a", in: "mail/1"), Note("b", in: "mail/2")]) }
            try await running(broker) {
                try await until {
                    site.clock.advance(by: .seconds(1))
                    return !lines.elements.isEmpty
                }
            }
            let kind = routes == 1 ? " kind=\(Note.kind)" : ""
            let known = "warning actions wait for a route that nobody has added count=2\(kind) queue=mail/1"
            let isNamed = lines.elements.first?.contains(
                routes == 1 ? "route for the kind" : "no route for the queue"
            )
            #expect(run == 0 ? isNamed == true : lines.elements == [known], "\(lines.elements)")
            await broker.close()
        }
    }
}
