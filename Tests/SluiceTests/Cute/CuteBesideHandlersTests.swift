import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The queue as a data structure beside handlers that run it, here and elsewhere.
@Suite("Cute: beside handlers", .watched) struct CuteBesideHandlersTests {
    @Test(
        "G3: Cute: what runs is never taken out, but what stands behind it",
        arguments: QueueStorage.allCases
    )
    func runningHead(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let (log, goOn) = (EventLog<String>(), Signal())
        try jobs.route { note, _ in
            log.append(note.text)
            try await goOn.received()
            return .success
        }
        try await jobs.add(["a", "b", "c"].map { Note($0) })
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await #expect(jobs.texts() == ["b", "c"])
            try await #expect(jobs.count() == 2)
            try await #expect(jobs.peek()?.action.text == "b")
            try await #expect(jobs.take() == ["b"])
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "c"])
        try await #expect(jobs.take(3) == [])
        await broker.close()
    }

    @Test("Cute: clearing leaves what runs, and it is settled as ever")
    func clearBesideRunning() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let (log, goOn) = (EventLog<String>(), Signal())
        try jobs.route { note, _ in
            log.append(note.text)
            try await goOn.received()
            return .success
        }
        let ids = try await jobs.add(["a", "b", "c"].map { Note($0) })
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await #expect(jobs.clear() == 2)
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a"])
        try await #expect(broker.settled(ids[0]) == .succeeded)
        try await #expect(broker.settled(ids[1]) == .removed)
    }

    @Test("Cute: many callers and handlers at once get each action once", arguments: QueueStorage.allCases)
    func exactlyOnce(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.file.durability = .relaxed }
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        try jobs.route { note, _ in
            log.append(note.text)
            return .success
        }
        let texts = (0..<400).map { "\($0)" }
        try await jobs.add(texts.map { Note($0) })
        let taken = try await running(broker) {
            try await withThrowingTaskGroup(of: [String].self) { group in
                for size in 1...8 {
                    group.addTask {
                        var mine: [String] = []
                        while true {
                            let some = try await jobs.take(size % 3 + 1)
                            if some.isEmpty { return mine }
                            mine += some
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        let all = taken + log.elements
        #expect(all.count == 400 && Set(all) == Set(texts))
        try await #expect(jobs.count() == 0)
        await broker.close()
    }

    @Test("Cute: a head that waits for its retry, or has parked the queue, can be taken out; the next runs")
    func blockedHead() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(attempt.queue) \(note.text)")
            if note.text == "b" { return .success }
            return attempt.queue == "parked" ? .fail("no room") : .retry(after: .seconds(60))
        }
        for name in ["parked", "waits"] as [QueueName] {
            try await broker.queue(name, of: Note.self).add([Note("a"), Note("b")])
        }
        try await running(broker) {
            _ = try await log.wait(forCount: 2)
            try await until { broker.statistics.failed == 1 && broker.statistics.retried == 1 }
            for name in ["parked", "waits"] as [QueueName] {
                try await #expect(broker.queue(name, of: Note.self).take() == ["a"])
            }
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements.dropFirst(2)) == ["parked b", "waits b"])
        #expect(site.clock.uptime == .zero)
    }

    @Test(
        "Cute: a stopped queue runs nothing until it is started, and all else goes on",
        arguments: QueueStorage.allCases
    )
    func stopAndStart(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let (jobs, others) = (broker.queue("jobs", of: Note.self), broker.queue("others", of: Note.self))
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await #expect(!jobs.isStopped())
        try await jobs.stop(reason: "the user is away")
        try await jobs.stop()
        try await #expect(jobs.isStopped())
        try await #expect(!others.isStopped())
        try await running(broker) {
            try await jobs.add([Note("a"), Note("b"), Note("c")])
            try await others.add(Note("d"))
            await broker.waitUntilIdle()
            #expect(log.elements == ["d"])
            try await #expect(
                "\(broker.status(of: "jobs"))" == "jobs: held by queue handle: the user is away"
            )
            try await #expect(jobs.take() == ["a"])
            try await #expect(jobs.peek()?.action.text == "b")
            try await jobs.start()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["d", "b", "c"])
        try await #expect(!jobs.isStopped())
        try await jobs.start()
        await broker.close()
    }

    @Test("Cute: a queue that was stopped is so after a restart, and holds of others are not the handle's")
    func stopOutlives() async throws {
        let site = try Site()
        let first = try await site.broker()
        try await first.queue("jobs", of: Note.self).stop()
        try await first.hold("jobs", by: "ops")
        await first.close()
        let second = try await site.broker()
        let (jobs, log) = (second.queue("jobs", of: Note.self), EventLog<String>())
        try second.routeNotes(to: log)
        try await jobs.add(Note("a"))
        try await #expect(jobs.isStopped())
        try await running(second) {
            await second.waitUntilIdle()
            try await jobs.start()
            try await #expect(!jobs.isStopped())
            try await #expect(second.holds().map(\.holder) == ["ops"])
            await second.waitUntilIdle()
            #expect(log.elements.isEmpty)
            try await second.endHolds(matching: "jobs", by: "ops")
            await second.waitUntilIdle()
            #expect(log.elements == ["a"])
            try await jobs.stop()
            try await jobs.add(Note("b"))
            await second.waitUntilIdle()
            #expect(log.elements == ["a"])
        }
        await second.close()
    }

    @Test("Cute: a queue with a star in its name is no pattern, and refused where one may be meant")
    func star() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs/*", of: Note.self)
        for refused in [
            await refusal { try await jobs.add(Note("b")) },
            await refusal { try await jobs.add([Note]()) },
            await refusal { try await jobs.stop() }, await refusal { try await jobs.start() },
            await refusal { try jobs.route { _, _ in .success } },
        ] {
            #expect(refused == .invalidPattern)
        }
        let reason = String(repeating: "x", count: 1_001)
        let long = await refusal { try await broker.queue("q", of: Note.self).stop(reason: reason) }
        #expect(long == .invalidOptions)
        // Such a queue of an earlier file can be emptied.
        try await #expect(jobs.take(2) == [])
    }

    @Test("Cute: what a shell adds, edits and removes is seen, though no broker runs")
    func shell() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let ids = try await jobs.add((1...4).map { Note("\($0)", order: .integer($0)) })
        // From here on memory knows the order.
        try await #expect(jobs.take() == ["1"])
        try site.shell("UPDATE sluice_actions SET sort_key = 9 WHERE id = \(ids[1])")
        try site.shell("DELETE FROM sluice_actions WHERE id = \(ids[2])")
        try site.shell(
            """
            INSERT INTO sluice_actions (queue, kind, payload, sort_key)
            VALUES ('jobs', 'note', '{"text":"5"}', 3)
            """
        )
        try await #expect(jobs.texts() == ["5", "4", "2"])
        try await #expect(jobs.take(9) == ["5", "4", "2"])
        await broker.close()
    }

    @Test("G3: Cute: what another process runs is not taken out, and is there when it comes back")
    func otherProcess() async throws {
        let site = try Site()
        let other = try await site.broker { $0.standFor(process: 1) }
        let mine = try await site.broker { $0.standFor(process: 2) }
        let (log, goOn) = (EventLog<String>(), Signal())
        try other.route("*", Note.self) { note, attempt in
            log.append(note.text)
            try await goOn.received(attempt.number)
            return attempt.number == 1 ? .retry(after: .seconds(60)) : .success
        }
        let jobs = mine.queue("jobs", of: Note.self)
        try await jobs.add(["a", "b", "c"].map { Note($0) })
        try await running(other) {
            try await other.fileEngine.store.readForeignChanges()
            _ = try await log.wait(forCount: 1)
            try await #expect(jobs.take() == ["b"])
            try await #expect(jobs.texts() == ["c"])
            goOn.send()
            try await until { other.statistics.retried == 1 }
            try await #expect(jobs.texts() == ["a", "c"])
            try await #expect(jobs.take(3) == ["a", "c"])
        }
        await mine.close()
        await other.close()
    }
}
