import Dispatch
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

extension QueueNotice<Note> {
    /// What it says, in a line.
    var line: String {
        var words = [kind.rawValue] + actions.map(\.action.text)
        words += unreadable.map { "?\($0)" }
        if let error { words.append("'\(error)'") }
        if lost > 0 { words.append("lost \(lost)") }
        return words.joined(separator: " ")
    }
}

/// Cute's observers: told of what happens to the jobs of a queue, with the jobs, until the token is dropped.
@Suite("Cute: observers", .watched) struct CuteObserverTests {
    private let callbacks = DispatchQueue(label: "test.cute")

    @Test(
        "Cute: added, removed, cancelled, processed and failed are told, with the actions, in order",
        arguments: QueueStorage.allCases
    )
    func fiveKinds(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        try jobs.route(retrying(.fixed(.zero))) { _, attempt in
            if attempt.number == 1 { throw TestError("no network") }
            return .success
        }
        let ids = try await jobs.add(["a", "b", "c"].map { Note($0) })
        try await broker.queue("others", of: Note.self).add(Note("not mine"))
        try await #expect(jobs.take() == ["a"])
        try await jobs.cancel(ids[1])
        try await running(broker) { await broker.waitUntilIdle() }
        let expected = [
            "added a b c", "removed a", "cancelled b", "failed c 'no network'", "processed c",
        ]
        try await #expect(log.wait(forCount: 5) == expected)
        token.cancel()
        await broker.close()
    }

    @Test("Cute: nothing is told once the token is dropped, and nothing is collected any more")
    func dropped() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        var token: ObservationToken? = jobs.observe(on: callbacks) { log.append($0.line) }
        try await jobs.add(Note("a"))
        _ = try await log.wait(forCount: 1)
        #expect(broker.fileEngine.store.interest.contents?.queues == ["jobs"])
        withExtendedLifetime(token) {}
        token = nil
        #expect(
            broker.fileEngine.store.interest.contents?.queues == nil
                && !broker.fileEngine.store.interest.isAny
        )
        try await jobs.add(Note("b"))
        callbacks.sync {}
        #expect(log.elements == ["added a"])
        await broker.close()
    }

    @Test("Cute: two observers of one queue are told the same, and one may go before the other")
    func two() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let (one, other) = (EventLog<String>(), EventLog<String>())
        let first = jobs.observe(on: callbacks) { one.append($0.line) }
        let second = jobs.observe(on: callbacks) { other.append($0.line) }
        try await jobs.add(Note("a"))
        // Observers are told one after the other: whoever goes before its turn is told nothing more.
        try await #expect(one.wait(forCount: 1) == ["added a"])
        try await #expect(other.wait(forCount: 1) == ["added a"])
        first.cancel()
        first.cancel()
        try await jobs.add(Note("b"))
        try await #expect(other.wait(forCount: 2) == ["added a", "added b"])
        callbacks.sync {}
        #expect(one.elements == ["added a"])
        second.cancel()
        await broker.close()
    }

    @Test(
        "Cute: what comes and goes otherwise is told too: moved, set aside, put back, cleared"
    )
    func otherWays() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        let ids = try await jobs.add(["a", "b", "c"].map { Note($0) })
        let stray = try await broker.enqueue(Note("stray", in: "others")).id
        try await broker.move(stray, to: "jobs")
        try await broker.move(ids[0], to: "others")
        try await #expect(broker.skipHead(of: "jobs") == .skipped(ids[1]))
        try await broker.requeue(ids[1])
        let taken = try #require(try await jobs.removeNext())
        try await jobs.putBack(taken)
        try await jobs.clear()
        let lines = try await log.wait(forCount: 8)
        #expect(
            lines.dropLast() == [
                "added a b c", "added stray", "removed a", "removed b", "added b", "removed b", "added b",
            ]
        )
        #expect(lines.last?.split(separator: " ").sorted() == ["b", "c", "removed", "stray"])
        token.cancel()
        await broker.close()
    }

    @Test("Cute: an action that is set aside after its last attempt has failed, and is removed")
    func setAside() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        try jobs.route(RouteOptions(failure: .all(.skip))) { _, _ in .fail("no room") }
        try await jobs.add(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(log.wait(forCount: 3) == ["added a", "failed a 'no room'", "removed a"])
        token.cancel()
        await broker.close()
    }

    @Test("Cute: of what cannot be shown the number is told: of another kind, or deleted by a shell")
    func unreadable() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        try await running(broker) {
            try await broker.hold("*", by: "ops")
            let raw = RawAction(queue: "jobs", kind: "photo", payload: "1")
            try await broker.enqueue(raw: [raw])
            try await jobs.add(Note("a"))
            try site.shell(
                """
                INSERT INTO sluice_actions (queue, kind, payload) VALUES ('jobs', 'note', '{"text":"b"}')
                """
            )
            try await broker.fileEngine.store.readForeignChanges()
            try site.shell("DELETE FROM sluice_actions WHERE queue = 'jobs' AND id = 3")
            try await broker.fileEngine.store.readForeignChanges()
            try await #expect(log.wait(forCount: 4) == ["added ?1", "added a", "added b", "cancelled ?3"])
        }
        token.cancel()
        await broker.close()
    }

    @Test("Cute: callbacks come on the executor that is named")
    func executor() async throws {
        final class Executor: TaskExecutor {
            let queue = DispatchQueue(label: "test.cute.executor")
            let count = Atomic(0)

            func enqueue(_ job: consuming ExecutorJob) {
                count.add(1, ordering: .relaxed)
                let job = UnownedJob(job)
                queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            }
        }
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let (executor, log) = (Executor(), EventLog<String>())
        let token = jobs.observe(on: executor) { log.append($0.line) }
        try await jobs.add(Note("a"))
        try await #expect(log.wait(forCount: 1) == ["added a"])
        #expect(executor.count.load(ordering: .relaxed) > 0)
        token.cancel()
        await broker.close()
    }

    @Test("Cute: a slow observer loses notices as a whole, is told how many actions, and holds up nobody")
    func slow() {
        func draft(_ kind: QueueNoticeKind, _ count: Int) -> NoticeDraft {
            let subject = NoticeDraft.Subject(id: ActionID(rawValue: 1), action: nil)
            return NoticeDraft(kind: kind, subjects: Array(repeating: subject, count: count), error: nil)
        }
        var buffer = NoticeBuffer(limit: 4)
        // One of any size finds room where nothing waits.
        for (kind, count) in [(QueueNoticeKind.added, 9), (.removed, 1), (.failed, 2)] {
            buffer.add(draft(kind, count))
        }
        var told = [buffer.pop()]
        for (kind, count) in [(QueueNoticeKind.added, 3), (.removed, 2), (.failed, 1), (.cancelled, 1)] {
            buffer.add(draft(kind, count))
        }
        while let next = buffer.pop() { told.append(next) }
        #expect(told.map(\.?.kind) == [.added, .added, .failed])
        #expect(told.map(\.?.lost) == [3, 2, 1])
        buffer.add(draft(.added, 1))
        buffer.removeAll()
        #expect(buffer.pop()?.kind == nil)
        buffer.add(draft(.added, 5))
        #expect(buffer.pop()?.subjects.count == 5)
    }

    @Test("While nobody asks for the actions of a queue, none is kept; of other queues none ever")
    func contents() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        store.interest.begin()
        // The order may be written behind in a commit of its own.
        func lastCommit() -> CommitReport? { fixture.commits.elements.last { !$0.events.isEmpty } }
        try await store.add("a", in: "jobs")
        #expect(lastCommit()?.contents?.queues == nil)
        let registration = ContentsRegistration(store.interest, "jobs")
        try await store.add([ActionDraft("b", in: "jobs"), ActionDraft("c", in: "others")])
        let report = try #require(lastCommit())
        #expect(report.contents?.actions.mapValues(\.payload) == [0: "\"b\""])
        registration.end()
        registration.end()
        try await store.add("d", in: "jobs")
        #expect(lastCommit()?.contents?.queues == nil)
        #expect(lastCommit()?.events.count == 1)
    }
}
