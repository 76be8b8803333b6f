import Foundation
import SluiceTestKit
import Testing

@testable import Sluice

/// What the file refuses, as where a row of it cannot be written, is told as the reason why a queue stands.
@Suite("Refusals", .timeLimit(.minutes(2)))
struct RefusalTests {
    private let site: Site

    init() throws { site = try Site() }

    private var now: Date { site.clock.now.date }

    @Test("G9, G15: what cannot be started because its rows cannot be written says so, until they can")
    func claim() async throws {
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        for queue in ["a", "b"] as [QueueName] { try await broker.enqueue(Note("\(queue)", in: queue)) }
        try site.shell(
            """
            CREATE TRIGGER planted BEFORE INSERT ON sluice_claim_rows WHEN new.action_id = 1
            BEGIN SELECT RAISE(ABORT, 'planted'); END;
            """
        )
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await until { try await broker.status(of: "a").because != [.ready] }
            let status = try await broker.status(of: "a")
            let because = try #require(status.because.first)
            guard case .refused(let error, now) = because else {
                return #expect("\(because)" == "refused")
            }
            #expect(error.contains("planted") && status.because.count == 1)
            #expect(status.state == .ready && status.standsStill && because.isStall)
            #expect(because.description.hasPrefix("refused since 20") && "\(because)".hasSuffix(error))
            // It is tried again each second, and the time is that of the first try.
            site.clock.advance(by: .seconds(1))
            try await until { broker.isAtRest(butFor: 0) }
            try await #expect(broker.status(of: "a").because == [because])
            try site.shell("DROP TRIGGER planted")
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["b", "a"])
        await broker.close()
    }

    @Test("G14, G15: an outcome that cannot be written says so, until it can")
    func outcome() async throws {
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a"))
        try site.shell(
            """
            CREATE TRIGGER planted BEFORE DELETE ON sluice_action_rows
            BEGIN SELECT RAISE(ABORT, 'planted'); END;
            """
        )
        try await running(broker) {
            try await until { try await broker.status(of: "notes").because.count == 2 }
            let because = try await broker.status(of: "notes").because
            #expect(because.first == .running(since: now, attempt: 1))
            guard case .refused(let error, now) = because[1] else {
                return #expect("\(because)" == "refused")
            }
            #expect(error.contains("planted"))
            try site.shell("DROP TRIGGER planted")
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "notes").because == [])
        }
        #expect(log.elements == ["a"])
        await broker.close()
    }
}
