import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Holds and gates by the plain shell, on the clocks of the system.
@Suite("Holds and gates in SQL", .watched)
struct SQLControlTests {
    private func live() async throws -> (broker: Broker, shell: SQLShell, log: EventLog<String>) {
        let file = try TemporaryFile()
        var options = BrokerOptions()
        options.file.foreignChangeInterval = .milliseconds(2)
        let broker = try await Broker(file: file.path, options: options)
        let log = EventLog<String>()
        var route = RouteOptions()
        route.gates = ["network"]
        try broker.route("gated/*", Note.self, route) { note, _ in
            log.append(note.text)
            return .success
        }
        try broker.routeNotes("held/*", to: log)
        return (broker, SQLShell(file.path, keeping: file), log)
    }

    @Test("G11: a hold that is inserted stops a running broker, and its deletion starts it again")
    func holds() async throws {
        let (broker, shell, log) = try await live()
        try await running(broker) {
            try await shell.run(
                "INSERT INTO sluice_holds (scope, holder, reason) VALUES ('held/*', 'ops', 'a move');"
            )
            try await broker.enqueue(Note("a", in: "held/1"))
            await broker.waitUntilIdle()
            #expect(log.elements.isEmpty)
            let line = "SELECT state || '; ' || because FROM sluice_queues"
            try await #expect(shell.line(line) == "held; held by ops: a move")
            try await shell.run("DELETE FROM sluice_holds WHERE holder = 'ops';")
            _ = try await log.wait(forCount: 1)
        }
        await broker.close()
    }

    @Test("G11: a gate that is inserted, updated or deleted opens and closes for a running broker")
    func gates() async throws {
        let (broker, shell, log) = try await live()
        try await running(broker) {
            try await broker.enqueue(Note("a", in: "gated/1"))
            await broker.waitUntilIdle()
            #expect(log.elements.isEmpty)
            let line = "SELECT state || '; ' || because FROM sluice_queues"
            try await #expect(shell.line(line) == "gate; waiting for gate network")
            try await shell.run("INSERT INTO sluice_gates (gate) VALUES ('network');")
            _ = try await log.wait(forCount: 1)
            await broker.waitUntilIdle()
            for (number, change) in [
                ("UPDATE sluice_gates SET state = 'closed'", "UPDATE sluice_gates SET state = 'open'"),
                (
                    "DELETE FROM sluice_gates",
                    "INSERT INTO sluice_gates (gate, state) VALUES ('network', 'open')"
                ),
            ].enumerated() {
                try await shell.run(change.0 + " WHERE gate = 'network';")
                try await broker.enqueue(Note("b", in: "gated/1"))
                await broker.waitUntilIdle()
                #expect(log.elements.count == number + 1)
                try await shell.run(change.1 + ";")
                _ = try await log.wait(forCount: number + 2)
            }
        }
        await broker.close()
    }

    @Test("They work while no broker runs, and the views say why nothing moves, in the contract's order")
    func offline() async throws {
        let (file, shell) = try await closedFile()
        try await shell.run(
            """
            INSERT INTO sluice_actions (queue, kind, payload, gate)
            VALUES ('q', 'note', '{"text":"a"}', 'network');
            INSERT INTO sluice_holds (scope) VALUES ('*');
            """
        )
        let because = "SELECT because FROM sluice_queues"
        try await #expect(shell.line(because) == "held by sqlite3")
        try await shell.run("DELETE FROM sluice_holds;")
        try await #expect(shell.line(because) == "waiting for gate network")
        try await shell.run("INSERT INTO sluice_gates (gate) VALUES ('network');")
        try await #expect(shell.line(because) == "broker stopped")
        try await shell.run("INSERT INTO sluice_holds (scope, until) VALUES ('q', '2000-01-01T00:00:00Z');")
        try await #expect(shell.line(because) == "broker stopped")
        let log = EventLog<String>()
        let broker = try await Broker(file: file.path)
        try broker.routeNotes("q", to: log)
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        await broker.close()
    }

    @Test(
        "A bad value is refused with a message that names the column",
        arguments: [
            ("INSERT INTO sluice_holds (scope) VALUES ('a*')", "sluice_holds.scope"),
            ("INSERT INTO sluice_holds (scope) VALUES (NULL)", "sluice_holds.scope"),
            ("INSERT INTO sluice_holds (scope, holder) VALUES ('a', 5)", "sluice_holds.holder"),
            (
                "INSERT INTO sluice_holds (scope, reason) VALUES ('a', printf('%.*c', 1001, 'x'))",
                "sluice_holds.reason"
            ),
            ("INSERT INTO sluice_holds (scope, until) VALUES ('a', 'soon')", "sluice_holds.until"),
            ("INSERT INTO sluice_holds (id, scope) VALUES (1, 'a')", "sluice_holds"),
            ("UPDATE sluice_holds SET reason = 'other'", "sluice_holds"),
            ("INSERT INTO sluice_gates (gate) VALUES ('')", "sluice_gates.gate"),
            ("INSERT INTO sluice_gates (gate, state) VALUES ('g', 'ajar')", "sluice_gates.state"),
            ("UPDATE sluice_gates SET state = NULL", "sluice_gates.state"),
            ("UPDATE sluice_gates SET gate = 'h'", "sluice_gates"),
            ("UPDATE sluice_gates SET opens_at = 1", "sluice_gates"),
            ("INSERT INTO sluice_gates (gate, state, opens_at) VALUES ('h', 'closed', 1)", "sluice_gates"),
        ]
    )
    func refusals(_ sql: String, _ named: String) async throws {
        let (_, shell) = try await closedFile()
        try await shell.run(
            "INSERT INTO sluice_holds (scope) VALUES ('q'); INSERT INTO sluice_gates (gate) VALUES ('g');"
        )
        let message = await shell.refusal(sql + ";")
        #expect(message.contains(named), "\(sql): \(message)")
    }
}
