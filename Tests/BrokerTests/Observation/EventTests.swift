import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Events come out of the store with the commit that they belong to.
@Suite("Events", .watched)
struct EventTests {
    /// Subscribes, lets a test act, closes the broker, and tells what it was told, each in a line.
    private func lines(
        _ broker: Broker,
        _ act: () async throws -> Void
    ) async throws -> [String] {
        let events = broker.events()
        try await act()
        await broker.close()
        return await events.lines()
    }

    @Test("An action's way is told step by step: enqueued, started, retried, started, done, idle")
    func way() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
            if attempt.number == 1 { throw TestError("line busy") }
            return .success
        }
        let lines = try await lines(broker) {
            try await broker.enqueue(Note("a"))
            try await running(broker) { await broker.waitUntilIdle() }
        }
        #expect(
            lines == [
                "enqueued notes 1 note", "started notes 1 note #1",
                "retrying notes 1 note #1 'line busy' after 0.0 seconds", "started notes 1 note #2",
                "succeeded notes 1 note #2", "idle notes",
            ]
        )
    }

    @Test("Failures tell cause and policy, and what is set aside")
    func failures() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        for (pattern, policy) in [("block", FailurePolicy.block), ("skip", .skip), ("all", .failQueue)] {
            let options = RouteOptions(failure: .all(policy))
            try broker.route(QueuePattern(pattern), Note.self, options) { _, _ in .fail("no room") }
        }
        let lines = try await lines(broker) {
            for queue in ["block", "skip", "all"] {
                let name = QueueName(queue)
                try await broker.enqueue([Note("a", in: name), Note("b", in: name)])
            }
            try await running(broker) { await broker.waitUntilIdle() }
        }
        #expect(
            lines.filter { $0.contains(" block ") && !$0.hasPrefix("enq") } == [
                "started block 1 note #1", "failed block 1 note #1 'no room' failed/block",
            ]
        )
        #expect(
            lines.filter { $0.contains(" skip ") && !$0.hasPrefix("enq") } == [
                "started skip 3 note #1", "failed skip 3 note #1 'no room' failed/skip",
                "deadLettered skip 3 note 'no room' failed", "started skip 4 note #1",
                "failed skip 4 note #1 'no room' failed/skip", "deadLettered skip 4 note 'no room' failed",
            ]
        )
        #expect(
            lines.filter { $0.contains(" all ") && !$0.hasPrefix("enq") } == [
                "started all 5 note #1", "failed all 5 note #1 'no room' failed/failQueue",
                "deadLettered all 5 note 'no room' failed", "deadLettered all 6 note 'no room' behind",
            ]
        )
        #expect(lines.contains("idle skip") && lines.contains("idle all") && !lines.contains("idle block"))
    }

    @Test("What operators do is told: removal, requeue, waits that end, gates and holds")
    func operations() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        let lines = try await lines(broker) {
            try await broker.enqueue([Note("a"), Note("b")])
            try await broker.cancel(ActionID(rawValue: 2))
            try await running(broker) { await broker.waitUntilIdle() }
            try await broker.requeue(ActionID(rawValue: 1))
            try await broker.openGate("network")
            try await broker.openGate("network")
            try await broker.closeGate("network")
            let hold = try await broker.hold("notes/*", by: "ops")
            try await broker.endHold(hold)
        }
        #expect(
            lines == [
                "enqueued notes 1 note", "enqueued notes 2 note", "removed notes 2 note",
                "started notes 1 note #1",
                "failed notes 1 note #1 'no' failed/skip", "deadLettered notes 1 note 'no' failed",
                "idle notes",
                "requeued notes 1 note", "gateOpened network", "gateClosed network", "held notes/* by ops",
                "resumed notes/* by ops",
            ]
        )
    }

    @Test("What a shell changes is told as far as the file's log of changes says")
    func foreign() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.enqueue([Note("a"), Note("b")])
        let lines = try await lines(broker) {
            try await running(broker) {
                try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
                try site.shell("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('shell', 'k', '1')")
                try site.shell("DELETE FROM sluice_actions WHERE id = 2")
                try site.shell("UPDATE sluice_actions SET payload = '2' WHERE id = 3")
                try site.shell("INSERT INTO sluice_holds (scope) VALUES ('x')")
                try site.shell("INSERT INTO sluice_gates (gate) VALUES ('g')")
                try await broker.fileEngine.store.readForeignChanges()
                try site.shell("DELETE FROM sluice_holds")
                try site.shell("DELETE FROM sluice_gates")
                try await broker.fileEngine.store.readForeignChanges()
            }
        }
        // The broker takes it in at once or piece by piece; of one piece, gates are told before holds.
        let told = lines.filter { !$0.hasPrefix("blocked") }
        #expect(told.prefix(3) == ["enqueued shell 3 k", "removed notes 2", "edited shell 3 k"])
        #expect(Set(told.dropFirst(3).prefix(2)) == ["gateOpened g", "held x by sqlite3"])
        #expect(Set(told.dropFirst(5)) == ["gateClosed g", "resumed x by sqlite3"])
        #expect(lines.contains("blocked notes 1 note"))
    }

    @Test("An action that goes while it runs is told as removed, once, whatever its handler answers")
    func removedWhileRunning() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let (started, goOn) = (Signal(), Signal())
        try broker.route("*", Note.self) { note, _ in
            started.send()
            // Not heeding the cancellation: a success comes too late all the same.
            await goOn.receivedInAnyCase()
            return note.text == "deleted" ? .success : .retry
        }
        defer { goOn.send() }
        let lines = try await lines(broker) {
            try await broker.enqueue([Note("deleted", in: "a"), Note("cancelled", in: "b")])
            try await running(broker) {
                try await started.received(2)
                try site.shell("DELETE FROM sluice_actions WHERE id = 1")
                try await broker.fileEngine.store.readForeignChanges()
                try await broker.cancel(ActionID(rawValue: 2))
                goOn.send()
                await broker.waitUntilIdle()
            }
        }
        let ends = lines.filter { !$0.hasPrefix("enqueued") && !$0.hasPrefix("started") }
        #expect(ends.filter { $0.contains(" a") } == ["removed a 1", "idle a"])
        #expect(ends.filter { $0.contains(" b") } == ["removed b 2 note", "idle b"])
    }

    @Test("A wake that finds nothing is told apart from a queue that has become empty")
    func emptyWake() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let lines = try await lines(broker) {
            try await running(broker) {
                let probe = broker.events()
                try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
                try await broker.enqueue(Note("later"), notBefore: .distantFuture)
                _ = await probe.first { $0.line.hasPrefix("emptyWake") }
            }
        }
        #expect(lines.filter { !$0.hasPrefix("enqueued") } == ["emptyWake notes"])
    }

    @Test("What is rolled back is never told, and the rest of its group once")
    func rollback() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        fixture.store.interest.begin()
        try await fixture.store.add("a")
        let refused = await refusal {
            try await fixture.store.write(sync: .later) { transaction in
                _ = try transaction.enqueues.enqueue([ActionDraft("b")])
                throw SluiceError(.storage, "not this one")
            }
        }
        #expect(refused == .storage)
        try await fixture.store.add("c")
        #expect(fixture.commits.elements.flatMap(\.events).compactMap(\.action?.rawValue) == [1, 2])
    }

    @Test("A hold that a shell makes while a write waits for its lock is told")
    func heldBehindLock() async throws {
        let fixture = try await StoreFixture()
        fixture.store.interest.begin()
        try await fixture.store.add("a")
        let other = try fixture.connect()
        try other.beginImmediate()
        try other.execute("INSERT INTO sluice_holds (scope) VALUES ('x')")
        let waiting = Task { try await fixture.store.add("b") }
        try await until { fixture.store.writer.trouble.lockedSince != nil }
        try other.commit()
        _ = try await waiting.value
        let kinds = fixture.commits.elements.flatMap(\.events).map(\.kind)
        #expect(kinds == [.enqueued, .held, .enqueued])
    }

    @Test("A hold that a shell makes is told, though a hold of ours was rolled back before")
    func heldBehindRollback() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        try await store.add("a")
        let refused = await refusal {
            try await store.write(sync: .later) { transaction in
                _ = try transaction.gatesAndHolds.hold("y", by: "ops", reason: "", for: nil)
                throw SluiceError(.storage, "not this one")
            }
        }
        #expect(refused == .storage)
        try fixture.execute("INSERT INTO sluice_holds (scope) VALUES ('x')")
        try await store.readForeignChanges()
        let events = fixture.commits.elements.flatMap(\.events)
        #expect(events.map(\.kind) == [.enqueued, .held] && events.last?.pattern == "x")
    }

    @Test("While nobody observes nothing is collected, and after the last has gone neither")
    func interest() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        #expect(!broker.fileEngine.store.interest.isAny)
        var events: QueueEvents? = broker.events()
        #expect(broker.fileEngine.store.interest.isAny)
        try await broker.enqueue(Note("a"))
        let first = await events?.first { _ in true }
        #expect(first != nil)
        events = nil
        #expect(!broker.fileEngine.store.interest.isAny)
        let late = broker.events()
        await broker.close()
        await #expect(late.lines() == [])
        #expect(!broker.fileEngine.store.interest.isAny)
    }

    @Test("Events of many writers come in the order of commits, the same for every subscriber")
    func order() async throws {
        let site = try Site(.file)
        let broker = try await site.broker { $0.file.durability = .relaxed }
        let count = 400
        try broker.route("*", Note.self) { _, _ in .success }
        let (one, other) = (
            broker.events(buffering: .bounded(10_000)), broker.events(buffering: .bounded(10_000))
        )
        try await running(broker) {
            await withTaskGroup { group in
                for index in 0..<count {
                    group.addTask { _ = try? await broker.enqueue(Note("\(index)", in: "q/\(index % 7)")) }
                }
            }
            await broker.waitUntilIdle()
        }
        await broker.close()
        let (lines, otherLines) = (await one.lines(), await other.lines())
        #expect(lines == otherLines)
        // The sequence is given in the commit: enqueued in its order, and each action's steps in theirs.
        let enqueued = lines.filter { $0.hasPrefix("enqueued") }.compactMap {
            Int($0.split(separator: " ")[2])
        }
        #expect(enqueued == Array(1...count))
        for id in 1...count {
            let steps = lines.filter { $0.split(separator: " ").dropFirst(2).first == "\(id)" }
                .map { $0.prefix { $0 != " " } }
            #expect(steps == ["enqueued", "started", "succeeded"])
        }
    }
}

extension QueueEvents {
    /// What is left, each in a line.
    func lines() async -> [String] {
        var lines: [String] = []
        for await element in self { lines.append(element.line) }
        return lines
    }
}

extension ObservedEvent {
    /// What it says, without the time.
    var line: String {
        guard case .event(let event) = self else {
            if case .gap(let lost) = self { return "gap \(lost)" }
            return ""
        }
        var words = [event.kind.description]
        words += [event.queue?.rawValue, event.action?.description, event.actionKind].compactMap(\.self)
        words += [event.gate?.rawValue, event.pattern?.rawValue].compactMap(\.self)
        if let holder = event.holder { words.append("by \(holder)") }
        if let attempt = event.attempt { words.append("#\(attempt)") }
        if let error = event.error { words.append("'\(error)'") }
        if let cause = event.cause {
            words.append(event.policy.map { "\(cause.rawValue)/\($0.rawValue)" } ?? cause.rawValue)
        }
        if let delay = event.delay { words.append("after \(delay)") }
        if let target = event.target { words.append("to \(target)") }
        return words.joined(separator: " ")
    }
}
