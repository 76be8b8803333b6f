import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Order, slots, retries and the policies of failures.
extension BrokerConformance {
    func order(_ broker: Broker) async throws {
        let log = try log(broker)
        let keys: [(String, Int64)] = [("c", 3), ("a", 1), ("b", 2), ("b again", 2), ("first", -1)]
        for (text, key) in keys { try await broker.enqueue(Note(text, order: .integer(key))) }
        try await broker.enqueue((0..<100).map { Note("\($0)", in: "arrivals") })
        try await drain(broker)
        #expect(log.elements.filter { Int($0) == nil } == ["first", "a", "b", "b again", "c"])
        #expect(log.elements.compactMap { Int($0) } == Array(0..<100))
        try await #expect(broker.actionCount() == 0)
    }

    func compositeKeys(_ broker: Broker) async throws {
        let log = try log(broker)
        for (text, number) in [("b", -1), ("a", 2), ("ab", 0), ("a", 1), ("b", -2)] as [(String, Int64)] {
            let key = SortKey.composite(.text(text), .integer(number))
            try await broker.enqueue(Note("\(text) \(number)", order: key))
        }
        await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("x", order: .text("a"))) }
        try await drain(broker)
        #expect(log.elements == ["a 1", "a 2", "ab 0", "b -2", "b -1"])
    }

    func oneSlot(_ broker: Broker) async throws {
        let (started, go) = (EventLog<String>(), Signal())
        try broker.route("*", Note.self) { note, _ in
            started.append(note.text)
            try await go.received()
            return .success
        }
        for queue in ["a", "b"] as [QueueName] {
            try await broker.enqueue([Note("\(queue) 1", in: queue), Note("\(queue) 2", in: queue)])
        }
        try await running(broker) {
            let first = try await started.wait(forCount: 2)
            #expect(Set(first) == ["a 1", "b 1"])
            try await #expect(broker.status(of: "a").state == .running)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(Set(started.elements.suffix(2)) == ["a 2", "b 2"])
    }

    func headBlocks(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("*", Note.self, retrying(.fixed(.seconds(60)))) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return note.text == "head" && attempt.number < 3 ? .retry : .success
        }
        try await broker.enqueue([Note("head"), Note("next")])
        try await running(broker) {
            for number in 1...2 {
                _ = try await log.wait(forCount: number)
                try await until { try await broker.status(of: "notes").state == .retry }
                engine.clock.advance(by: .seconds(60))
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["head 1", "head 2", "head 3", "next 1"])
    }

    func receipts(_ broker: Broker) async throws {
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, _ in
            note.text == "fails" ? .fail("refused") : .success
        }
        let good = try await broker.enqueue(Note("good"))
        let bad = try await broker.enqueue(Note("fails"))
        let gone = try await broker.enqueue(Note("gone"), EnqueueOptions(gate: "closed"))
        try await #expect(broker.cancel(gone.id) == .removed)
        try await running(broker) {
            try await #expect(good.settled() == .succeeded)
            try await #expect(bad.settled() == .deadLettered(.failed))
            try await #expect(gone.settled() == .removed)
        }
        try await #expect(broker.settled(ActionID(rawValue: 1_000_000)) == .unknown)
    }

    func retry(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("*", Note.self) { _, attempt in
            log.append("\(attempt.number) \(attempt.lastError ?? "-")")
            if attempt.number == 1 { throw TestError("offline") }
            return attempt.number == 2 ? .retry(after: .seconds(30)) : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await until { try await broker.status(of: "notes").state == .retry }
            try await broker.retryNow()
            _ = try await log.wait(forCount: 2)
            try await until { try await broker.status(of: "notes").state == .retry }
            engine.clock.advance(by: .seconds(29))
            try await #expect(broker.status(of: "notes").state == .retry)
            engine.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
        }
        #expect(log.elements.count == 3)
        #expect(
            log.elements[0] == "1 -" && log.elements[1].hasPrefix("2 ") && log.elements[1].contains("offline")
        )
    }

    func skip(_ broker: Broker) async throws {
        let log = try failing(broker, .skip)
        try await broker.enqueue(["a", "fails", "b"].map { Note($0) })
        try await drain(broker)
        #expect(log.elements == ["a", "fails", "b"])
        let letters = try await broker.deadLetters()
        #expect(letters.map(\.error) == ["refused"] && letters.first?.cause == .failed)
        let id = try #require(letters.first?.id)
        try await #expect(broker.failedAttempts(of: id).map(\.error) == ["refused"])
    }

    func block(_ broker: Broker) async throws {
        let log = try failing(broker, .block)
        let ids = try await broker.enqueue(["fails", "b"].map { Note($0) })
        try await broker.enqueue(Note("elsewhere", in: "other"))
        try await running(broker) {
            _ = try await log.wait(forCount: 2)
            try await until { try await broker.status(of: "notes").state == .parked }
            let because = try await broker.status(of: "notes").because.first
            guard case .parked(let action, .failed, "refused", _) = because else {
                Issue.record("\(String(describing: because))")
                return
            }
            #expect(action == ids[0])
            try await #expect(broker.skipHead(of: "notes") == .skipped(ids[0]))
            try await #expect(broker.deadLetters().map(\.error) == ["refused"])
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements) == ["fails", "elsewhere", "b"])
    }

    func failQueue(_ broker: Broker) async throws {
        let log = try failing(broker, .failQueue)
        try await broker.enqueue(["a", "fails", "c", "d"].map { Note($0) })
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("later"))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "fails", "later"])
        let letters = try await broker.deadLetters()
        #expect(letters.map(\.cause).sorted { $0.rawValue < $1.rawValue } == [.behind, .behind, .failed])
    }

    /// Routes notes to a log; those with the text "fails" fail under a policy.
    private func failing(_ broker: Broker, _ policy: FailurePolicy) throws -> EventLog<String> {
        let log = EventLog<String>()
        try broker.route("*", Note.self, RouteOptions(failure: .all(policy))) { note, _ in
            log.append(note.text)
            return note.text == "fails" ? .fail("refused") : .success
        }
        return log
    }
}
