#if PostgreSQL
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import SluicePostgres

/// Workers whose lease was over, and who come back.
extension PostgresLeaseTests {
    @Test("G6: a worker that was taken off hears that its late outcome did not count")
    func takenOff() async throws {
        defer { proxy.end() }
        let (far, near) = (try await broker(isBehindProxy: true), try await broker())
        let (started, isOver) = (Signal(), Signal())
        let runs = EventLog<String>()
        try far.route("*", Note.self) { _, _ in
            runs.append("far")
            started.send()
            // It ignores that it is cancelled.
            await Task.detached { try? await isOver.received() }.value
            return .success
        }
        try near.route("*", Note.self) { _, attempt in
            runs.append("near \(attempt.number)")
            return .retry(after: .seconds(3_600))
        }
        try await near.enqueue(Note("a"))
        let farRun = Task { try await far.run() }
        try await started.received()
        try await until { try await near.status(of: "notes").because.contains(.owned(by: "far")) }
        let nearRun = Task { try await near.run() }
        proxy.set(.hold)
        _ = try await runs.wait(forCount: 2)
        #expect(runs.elements[1].hasPrefix("near"))
        isOver.send()
        proxy.set(.pass)
        try await until { far.statistics.staleCompletions == 1 }
        #expect(far.statistics.succeeded == 0)
        // Its outcome has changed nothing: that of the other one counts, when it is written.
        try await until { try await near.status(of: "notes").state != .running }
        try await #expect(near.status(of: "notes").state == .retry)
        for broker in [far, near] { await broker.stop(grace: .zero) }
        _ = try await (farRun.value, nearRun.value)
        await far.close()
        await near.close()
    }

    @Test("G3: who gets back what it was taken off from starts it when its earlier handler has returned")
    func takenOffAndBack() async throws {
        defer { proxy.end() }
        let (far, near) = (try await broker(isBehindProxy: true), try await broker())
        let (started, isOver) = (Signal(), Signal())
        let runs = EventLog<String>()
        try far.route("notes", Note.self) { _, attempt in
            runs.append("far begins")
            defer { runs.append("far ends") }
            guard runs.elements.count == 1 else { return .success }
            started.send()
            // It ignores that it is cancelled.
            await Task.detached { try? await isOver.received() }.value
            return .success
        }
        try far.route("others", Note.self) { _, _ in
            runs.append("other")
            return .success
        }
        try near.route("notes", Note.self) { _, _ in
            runs.append("near")
            return .retry(after: .zero)
        }
        let receipt = try await near.enqueue(Note("a"))
        let farRun = Task { try await far.run() }
        try await started.received()
        let nearRun = Task { try await near.run() }
        proxy.set(.hold)
        _ = try await runs.wait { $0.contains("near") }
        await near.stop(grace: .seconds(60))
        try await nearRun.value
        proxy.set(.pass)
        let sql = PostgresConnection(PostgresAddress(url: site.server.url, schema: site.schema))
        let claims = "SELECT count(*) AS count FROM @sluice_claim_rows WHERE action_id = $1"
        try await until {
            try await sql.call(claims, ["\(receipt.id)"]).first?.integer("count") == 1
        }
        // Once another one has run, the answer with the claim has been worked on.
        try await near.enqueue(Note("b", in: "others"))
        _ = try await runs.wait { $0.contains("other") }
        #expect(runs.elements.count { $0 == "far begins" } == 1)
        isOver.send()
        _ = try await runs.wait { $0.suffix(2) == ["far begins", "far ends"] && $0.contains("other") }
        try await until { try await near.actionCount() == 0 }
        let turns = runs.elements.filter { $0.hasPrefix("far") }
        #expect(turns == ["far begins", "far ends", "far begins", "far ends"], "\(runs.elements)")
        await sql.close()
        await far.stop(grace: .zero)
        try await farRun.value
        await far.close()
        await near.close()
    }
}
#endif
