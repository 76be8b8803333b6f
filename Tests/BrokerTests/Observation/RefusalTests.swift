import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What the file refuses, as where a row of it cannot be written, is told as the reason why a queue stands.
@Suite("Refusals", .watched)
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
            #expect(status.state == .ready && status.isUnchanged && because.isStall)
            #expect(because.description.hasPrefix("refused since 20") && "\(because)".hasSuffix(error))
            // It is tried again each second, and the time is that of the first try.
            site.clock.advance(by: .seconds(1))
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
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
            // Nothing is committed that would tell of it.
            var found: QueueStatus?
            for try await status in broker.statusUpdates(of: "notes") where status.because.count == 2 {
                found = status
                break
            }
            let because = try #require(found?.because)
            #expect(found?.isUnchanged == true)
            #expect(because.first == .running(since: now, attempt: 1))
            guard case .refused(let error, now) = because[1] else {
                return #expect("\(because)" == "refused")
            }
            #expect(error.contains("planted"))
            try site.shell("DROP TRIGGER planted")
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
            let left = try await broker.status(of: "notes")
            #expect(left.because == [])
        }
        #expect(log.elements == ["a"])
        await broker.close()
    }

    @Test("G9, G15: an outcome does not wait for another queue's claim, which is what the file refuses")
    func neighbour() async throws {
        let broker = try await site.broker { $0.concurrency = 1 }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        for number in 1...5 { try await broker.enqueue(Note("bad", in: "bad/\(number)")) }
        try await broker.enqueue((1...50).map { _ in Note("good", in: "good") })
        try site.shell(
            """
            CREATE TRIGGER planted BEFORE INSERT ON sluice_claim_rows WHEN new.action_id <= 5
            BEGIN SELECT RAISE(ABORT, 'planted'); END;
            """
        )
        // The clock stands: whatever waits a moment waits for ever.
        try await running(broker) {
            try await until { broker.statistics.succeeded == 50 }
            for number in 1...5 {
                let status = try await broker.status(of: "bad/\(number)")
                guard case .refused(_, now)? = status.because.first else {
                    return #expect("\(status)" == "refused")
                }
            }
            try await #expect(broker.status(of: "good").because == [])
        }
        #expect(Set(log.elements) == ["good"])
        await broker.close()
    }

    @Test("G9, G15: what is due and cannot be given its place says so, until it can; the others start")
    func place() async throws {
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let due = site.clock.now + .seconds(10)
        for queue in ["a", "b"] as [QueueName] {
            try await broker.enqueue(Note("\(queue)", in: queue), notBefore: due.date)
        }
        try site.shell(
            """
            CREATE TRIGGER planted BEFORE UPDATE OF not_before_us ON sluice_action_rows WHEN old.id = 1
            BEGIN SELECT RAISE(ABORT, 'planted'); END;
            """
        )
        try await running(broker) {
            site.clock.advance(by: .seconds(10))
            _ = try await log.wait(forCount: 1)
            try await until { try await broker.status(of: "a").because != [.ready] }
            let status = try await broker.status(of: "a")
            guard case .refused(let error, due.date)? = status.because.first else {
                return #expect("\(status)" == "refused")
            }
            #expect(error.contains("planted") && status.isUnchanged)
            try site.shell("DROP TRIGGER planted")
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "a").because == [])
        }
        #expect(log.elements == ["b", "a"])
        await broker.close()
    }

    @Test("Each refusal stands until that very write is taken, since it was refused first")
    func each() throws {
        let refusals = Refusals()
        let (queue, error) = (QueueID(rawValue: 1), SluiceError(.storage, "planted"))
        func time(_ number: Int64) -> Timestamp { Timestamp(microseconds: number) }
        refusals.note(.outcome(7), of: queue, error, at: time(1))
        refusals.note(.claim, of: queue, error, at: time(2))
        refusals.clear(.claim, of: queue)
        refusals.note(.outcome(7), of: queue, error, at: time(3))
        refusals.clear(.outcome(8), of: queue)
        #expect(refusals.refusal(of: queue)?.since == time(1))
        let other = UnplacedAction(action: ActionID(rawValue: 3), queue: QueueID(rawValue: 2), error: error)
        #expect(refusals.keepPlaces([other], at: time(4)) == [other.queue])
        #expect(refusals.keepPlaces([other], at: time(5)) == [])
        #expect(refusals.refusal(of: other.queue)?.since == time(4))
        #expect(refusals.keepPlaces([], at: time(6)) == [other.queue])
        #expect(refusals.refusal(of: other.queue) == nil)
        refusals.note(.claim, of: queue, SluiceError(.databaseLocked, "locked"), at: time(0))
        #expect(refusals.refusal(of: queue)?.since == time(1))
        refusals.clear(.outcome(7), of: queue)
        #expect(refusals.refusal(of: queue) == nil)
    }
}
