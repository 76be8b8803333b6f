import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Holds, gates, dead letters, edits, schedules, keys and the reasons of waiting.
extension BrokerConformance {
    private var now: Date { engine.clock.date }

    func holds(_ broker: Broker) async throws {
        let log = try log(broker)
        let hold = try await broker.hold("held/*", by: "a person", reason: "maintenance", for: nil)
        try await broker.enqueue(Note("waits", in: "held/1"))
        try await broker.enqueue(Note("runs", in: "free"))
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(log.elements == ["runs"])
            let because = try await broker.status(of: "held/1").because
            #expect(because.first == .held(by: "a person", reason: "maintenance", until: nil))
            try await #expect(broker.holds().map(\.id) == [hold])
            try await #expect(broker.endHold(hold))
            await broker.waitUntilIdle()
            try await broker.hold("free", by: "b", reason: "", for: .seconds(60))
            try await broker.enqueue(Note("after", in: "free"))
            try await until { try await broker.status(of: "free").state == .held }
            engine.clock.advance(by: .seconds(60))
            _ = try await log.wait(forCount: 3)
        }
        #expect(log.elements == ["runs", "waits", "after"])
        try await #expect(!broker.endHold(hold))
    }

    func audits(_ broker: Broker) async throws {
        try await broker.audit("Hold: queue a", by: "ada", result: "held")
        try await broker.audit(String(repeating: "ä", count: 2_000), by: "", result: "a\0b")
        let entries = try await broker.auditEntries(limit: 10)
        #expect(entries.map(\.person) == ["unknown", "ada"])
        #expect(entries.map(\.act) == [String(repeating: "ä", count: 1_000), "Hold: queue a"])
        #expect(entries.map(\.result) == ["a\u{FFFD}b", "held"])
        try await #expect(broker.auditEntries(limit: 1).count == 1)
    }

    func gates(_ broker: Broker) async throws {
        let numbers = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            numbers.append(attempt.number)
            return .success
        }
        try await broker.enqueue(Note("a"), EnqueueOptions(gate: "network"))
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(numbers.elements == [])
            try await #expect(broker.status(of: "notes").because.first == .gate("network"))
            try await broker.openGate("network")
            _ = try await numbers.wait(forCount: 1)
            try await #expect(broker.gates().map(\.name) == ["network"])
            await broker.waitUntilIdle()
            try await broker.closeGate("network", isPersistent: false)
            try await broker.enqueue(Note("b"), EnqueueOptions(gate: "network"))
            await broker.waitUntilIdle()
        }
        #expect(numbers.elements == [1])
    }

    func closings(_ broker: Broker) async throws {
        let log = EventLog<String>()
        var options = RouteOptions()
        options.gates = ["server"]
        try broker.route("*", Note.self, options) { note, _ in
            log.append(note.text)
            return log.elements.count == 1 ? .retry(after: .seconds(30), closing: "server") : .success
        }
        try await broker.openGate("server")
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { try await broker.gates().first?.opensAt != nil }
            let end = try await broker.gates().first?.opensAt
            // The later end counts.
            try await broker.closeGate("server", isPersistent: false, for: .seconds(10))
            try await #expect(broker.gates().first?.opensAt == end)
            try await broker.enqueue(Note("b", in: "other"))
            try await until {
                try await broker.status(of: "other").because.first == .gate("server", until: end)
            }
            #expect(log.elements == ["a"])
            try await until {
                engine.clock.advance(by: .seconds(1))
                return log.elements.count == 3
            }
        }
        #expect(log.elements.sorted() == ["a", "a", "b"])
    }

    func rates(_ broker: Broker) async throws {
        let log = EventLog<String>()
        let options = RouteOptions(rate: RateLimit(1, per: .seconds(10), name: "server"))
        try broker.route("*", Note.self, options) { note, _ in
            log.append(note.text)
            return .success
        }
        try await broker.enqueue(["a", "b", "c"].map { Note($0, in: QueueName($0)) })
        let start = engine.clock.uptime
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            let queue = QueueName(log.elements == ["a"] ? "b" : "a")
            try await until {
                let because = try await broker.status(of: queue).because.first
                if case .permit(.rate("server", _)) = because { return true } else { return false }
            }
            #expect(log.elements.count == 1)
            try await until {
                engine.clock.advance(by: .seconds(1))
                return log.elements.count == 3
            }
        }
        #expect(engine.clock.uptime - start >= .seconds(20))
    }

    func deadLetters(_ broker: Broker) async throws {
        let (log, isMended) = (EventLog<String>(), Signal())
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, _ in
            log.append(note.text)
            return isMended.elements.isEmpty ? .fail("refused") : .success
        }
        let ids = try await broker.enqueue([Note("a", order: .integer(1)), Note("b", order: .integer(2))])
        try await drain(broker)
        try await #expect(Set(broker.deadLetters().map(\.id)) == Set(ids))
        isMended.send()
        try await #expect(broker.purge(ids[1]))
        try await broker.enqueue(Note("c", order: .integer(3)))
        try await #expect(broker.requeue(ids[0]))
        try await #expect(!broker.requeue(ids[1]))
        try await drain(broker)
        #expect(log.elements == ["a", "b", "a", "c"])
        try await #expect(broker.deadLetters().isEmpty)
    }

    func edits(_ broker: Broker) async throws {
        let log = try log(broker)
        let ids = try await broker.enqueue(["a", "b", "c"].map { Note($0) })
        try await #expect(broker.edit(ids[1], to: Note("edited"), ifRunning: .forNextAttempt) == .done)
        try await #expect(
            broker.edit(ActionID(rawValue: 999), to: Note("x"), ifRunning: .forNextAttempt) == .missing
        )
        try await #expect(broker.setTag("tag", of: ids[2]) == .done)
        try await #expect(broker.cancel(tag: "tag").removed == 1)
        try await drain(broker)
        #expect(log.elements == ["a", "edited"])
    }

    func staleActs(_ broker: Broker) async throws {
        let ids = try await broker.enqueue(["a", "b"].map { Note($0) })
        try await #expect(broker.skipHead(of: "notes", only: ids[1], reason: "r") == .other(ids[0]))
        try await #expect(broker.status(of: "notes").actionToSkip == ids[0])
        let shown = try #require(try await broker.action(ids[0]).details?.payload)
        func edit(replacing old: String) async throws -> ActionChange {
            try await broker.edit(ids[0], payload: shown, replacing: old, ifRunning: .forNextAttempt)
        }
        try await broker.edit(ids[0], to: Note("by another"), ifRunning: .forNextAttempt)
        try await #expect(edit(replacing: shown) == .conflict)
        let stored = try await broker.action(ids[0])
        #expect(try stored.payload(as: Note.self)?.text == "by another")
        try await #expect(edit(replacing: #require(stored.details?.payload)) == .done)
        try await #expect(broker.action(ids[0]).details?.payload == shown)
        try await #expect(broker.skipHead(of: "notes", only: ids[0], reason: "r") == .skipped(ids[0]))
        try await #expect(broker.skipHead(of: "notes", only: ids[0], reason: "r") == .other(ids[1]))
        try await #expect(broker.deadLetters().map(\.id) == [ids[0]])
        try await #expect(edit(replacing: shown) == .missing)
    }

    func moves(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(attempt.queue) \(note.text)")
            return .success
        }
        let ids = try await broker.enqueue(["a", "b", "c"].map { Note($0) })
        try await #expect(broker.move(ids[1], to: "other") == .done)
        try await #expect(broker.moveToFront(ids[2]) == .done)
        try await drain(broker)
        #expect(log.elements.filter { $0.hasPrefix("notes") } == ["notes c", "notes a"])
        #expect(log.elements.contains("other b"))
    }

    func cancels(_ broker: Broker) async throws {
        let (started, cancelled) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            do { try await untilCancelled() } catch { cancelled.send() }
            return .success
        }
        let ids = try await broker.enqueue(["runs", "waits"].map { Note($0) })
        try await running(broker) {
            try await started.received()
            try await #expect(broker.cancel(ids[1]) == .removed)
            try await #expect(broker.cancel(ids[0]) == .signalled)
            try await cancelled.received()
            await broker.waitUntilIdle()
            try await #expect(broker.cancel(ids[0]) == .tooLate)
        }
        try await broker.enqueue([Note("x", in: "a/1"), Note("y", in: "a/2"), Note("z", in: "b")])
        try await #expect(broker.cancel(queues: "a/*").removed == 2)
        try await #expect(broker.actionCount() == 1)
    }

    func schedules(_ broker: Broker) async throws {
        let log = try log(broker)
        let soon = now.addingTimeInterval(60)
        let late = try await broker.enqueue(Note("late", order: .integer(1)), .init(), notBefore: soon).id
        try await broker.enqueue(Note("now", order: .integer(2)))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            #expect(log.elements == ["now"])
            try await until { try await broker.status(of: "notes").state == .scheduled }
            try await #expect(broker.reschedule(late, notBefore: now.addingTimeInterval(120)) == .done)
            engine.clock.advance(by: .seconds(60))
            try await #expect(broker.status(of: "notes").state == .scheduled)
            engine.clock.advance(by: .seconds(60))
            _ = try await log.wait(forCount: 2)
        }
        #expect(log.elements == ["now", "late"])
    }

    func expiry(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, _ in
            log.append(note.text)
            return .success
        }
        let end = now.addingTimeInterval(60)
        let ids = try await broker.enqueue(["a", "b"].map { Note($0) }, EnqueueOptions(expiresAt: end))
        try await #expect(broker.setExpiry(end.addingTimeInterval(60), of: ids[1]) == .done)
        engine.clock.advance(by: .seconds(61))
        try await drain(broker)
        #expect(log.elements == ["b"])
        try await #expect(broker.deadLetters().map(\.cause) == [.expired])
        // One that is put back is due at once, whatever its time was.
        var options = EnqueueOptions(expiresAt: now.addingTimeInterval(60))
        options.notBefore = now.addingTimeInterval(3_600)
        let scheduled = try await broker.enqueue(Note("c", in: "later"), options).id
        engine.clock.advance(by: .seconds(61))
        try await drain(broker)
        try await #expect(broker.requeue(scheduled))
        try await drain(broker)
        #expect(log.elements == ["b", "c"])
    }

    func queueExpiry(_ broker: Broker) async throws {
        let log = try log(broker)
        try broker.configure("*", QueueOptions(expiresAfter: .seconds(60)))
        try broker.configure("notes", QueueOptions(maximumDepth: 9))
        let longer = EnqueueOptions(expiresAt: now.addingTimeInterval(90))
        try await broker.enqueue(Note("a"))
        try await broker.enqueue(Note("b"), longer)
        engine.clock.advance(by: .seconds(61))
        try await drain(broker)
        #expect(log.elements == ["b"])
        try await #expect(broker.deadLetters().map(\.cause) == [.expired])
    }

    func ownOptions(_ broker: Broker) async throws {
        try await broker.enqueue([Labelled(text: "a"), Labelled(text: "b")])
        try await broker.enqueue(Labelled(text: "c"), EnqueueOptions(tag: "call"))
        try await #expect(broker.actions(tag: "own", limit: 9).count == 2)
        try await #expect(broker.actions(tag: "call", limit: 9).count == 1)
    }

    func submits(_ broker: Broker) async throws {
        let (log, codes) = (try log(broker), EventLog<SluiceError.Code>())
        for number in 0..<50 { broker.submit(Note("\(number)")) }
        broker.submit(Note("refused", order: .real(.nan)), EnqueueOptions()) { codes.append($0.code) }
        try await #expect(codes.wait(forCount: 1) == [.sortKeyNotANumber])
        try await until { try await broker.actionCount() == 50 }
        try await drain(broker)
        #expect(log.elements == (0..<50).map { "\($0)" })
    }

    func keys(_ broker: Broker) async throws {
        let log = try log(broker)
        let first = try await broker.enqueue(Note("first"), EnqueueOptions(key: "k")).id
        try await #expect(broker.enqueue(Note("second"), EnqueueOptions(key: "k")).id == first)
        let refusing = EnqueueOptions(key: DeduplicationKey("k", policy: .refuse))
        await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("third"), refusing) }
        let replacing = EnqueueOptions(key: DeduplicationKey("k", policy: .replace))
        try await #expect(broker.enqueue(Note("fourth"), replacing).id == first)
        try await drain(broker)
        #expect(log.elements == ["fourth"])
        try await #expect(broker.enqueue(Note("free again"), refusing).id != first)
    }

    func because(_ broker: Broker) async throws {
        try await broker.enqueue(Note("a"))
        try await #expect(broker.status(of: "notes").state == .stopped)
        try await #expect(broker.status(of: "nothing").state == .empty)
        try broker.route("notes", Photo.self) { _, _ in .success }
        try await broker.enqueue(Note("b", in: "elsewhere"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "notes").because.first == .unknownKind)
            try await #expect(broker.status(of: "elsewhere").because.first == .noRoute)
            let stuck = try await broker.statuses(matching: .all, in: [.unknownKind, .noRoute], limit: 10)
            #expect(Set(stuck.map(\.queue)) == ["notes", "elsewhere"])
            let log = try log(broker, "notes")
            _ = try await log.wait(forCount: 1)
        }
    }

    func idle(_ broker: Broker) async throws {
        let log = EventLog<String>()
        try broker.route("*", Note.self) { [weak broker] note, _ in
            if note.text == "a" { try await broker?.enqueue(Note("b", in: "second")) }
            log.append(note.text)
            return .success
        }
        try await broker.enqueue(Note("a", in: "first"))
        try await running(broker) {
            await broker.waitUntilIdle()
            // The second one may run before the first has gone on.
            #expect(log.elements.sorted() == ["a", "b"])
            await broker.waitUntilIdle()
        }
        try await #expect(broker.actionCount() == 0)
    }

    func states(_ broker: Broker) async throws {
        let releases = EventLog<Int>()
        try broker.route("*", Note.self, RouteOptions(retry: .fixed(.seconds(9)), failure: .all(.skip))) {
            note,
            attempt in
            if note.text == "dies" { return .fail("refused") }
            releases.append(attempt.number)
            // A release spends no attempt.
            return releases.elements == [1] ? .release(after: .seconds(9), because: "busy") : .success
        }
        let options = EnqueueOptions(tag: "t", key: "k")
        let ids = try await broker.enqueue(contentsOf: [Note("a"), Note("dies", in: "other")], options)
        let first = try await broker.action(ids[0])
        #expect(first.phase == .waiting && first.ahead == 0)
        #expect(first.details?.key == "k" && first.details?.trace == [:])
        try await running(broker) {
            try await until { try await broker.action(ids[0]).lastError == "busy" }
            let due = now.addingTimeInterval(9)
            try await #expect(broker.action(ids[0]).phase == .retrying(at: due))
            try await #expect(broker.action(ids[0]).details?.attempts == 0)
            try await until { try await broker.actions(tag: "t", limit: 9).last?.lastError == "refused" }
            try await #expect(broker.actions(tag: "t", limit: 9).map(\.id) == ids)
            engine.clock.advance(by: .seconds(9))
            _ = try await broker.receipt(of: ids[0]).settled()
        }
        try await #expect(broker.action(ids[0]).phase == .ended(.succeeded))
        #expect(releases.elements == [1, 1])
    }
}

/// An action with a tag of its own.
private struct Labelled: Action {
    static let kind = "labelled"
    var text: String
    var queue: QueueName { "labelled" }
    var options: EnqueueOptions { EnqueueOptions(tag: "own") }
}
