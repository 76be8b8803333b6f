import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

/// What went wrong in YapTaskQueue, by its source: here it must not.
@Suite("YapTaskQueue's defects", .watched) struct YapTaskQueueDefectTests {
    @Test("A retry at once does not wedge the queue", arguments: QueueStorage.allCases)
    func retryNow(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number < 3 ? .retry(after: .zero) : .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a 1", "a 2", "a 3", "b 1", "b 2", "b 3"])
        #expect(site.clock.uptime == .zero)
        await broker.close()
    }

    @Test("Removing the running head starts no second handler, and its late completion confuses nothing")
    func removalOfRunningHead() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (log, inside) = (EventLog<String>(), HandlersInside())
        let keeper = Keeper()
        try broker.route(
            "*",
            to: NoteHandler { note, attempt, completion in
                inside.enter(attempt.queue)
                keeper.keep(completion)
                log.append(note.text)
            }
        )
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await #expect(broker.cancel(ids[0]) == .signalled)
            try await inside.settle(broker)
            #expect(log.elements == ["a"] && inside.most == 1)
            let late = try #require(keeper.take())
            inside.leave("notes")
            late(.retry)
            _ = try await log.wait(forCount: 2)
            late(.success)
            try await inside.settle(broker)
            #expect(log.elements == ["a", "b"] && inside.most == 1)
            inside.leave("notes")
            keeper.take()?(.success)
            _ = try await log.wait(forCount: 3)
            inside.leave("notes")
            keeper.take()?(.success)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b", "c"])
        #expect(broker.statistics.repeatedCompletions == 1)
        #expect(broker.statistics.succeeded == 2)
    }

    @Test("An arrival before the running head starts no second handler")
    func insertBeforeRunningHead() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (log, inside) = (EventLog<String>(), HandlersInside())
        let keeper = Keeper()
        try broker.route(
            "*",
            to: NoteHandler { note, attempt, completion in
                inside.enter(attempt.queue)
                keeper.keep(completion)
                log.append(note.text)
            }
        )
        try await broker.enqueue(Note("late", order: .integer(2)))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await broker.enqueue(Note("early", order: .integer(1)))
            try await inside.settle(broker)
            #expect(log.elements == ["late"] && inside.most == 1)
            inside.leave("notes")
            keeper.take()?(.retry(after: .zero))
            // The retry is due, but the head is another one now.
            _ = try await log.wait(forCount: 2)
            try await inside.settle(broker)
            #expect(inside.most == 1)
            inside.leave("notes")
            keeper.take()?(.success)
            _ = try await log.wait(forCount: 3)
            inside.leave("notes")
            keeper.take()?(.success)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["late", "early", "late"])
    }

    @Test("After a relaunch, stored and paused queues resume without a new action arriving")
    func resumesAfterRelaunch() async throws {
        let site = try Site()
        let log = EventLog<String>()
        let first = try await site.broker()
        try first.route("*", Note.self) { _, _ in .retry(after: .seconds(30)) }
        try await first.enqueue(Note("paused", in: "1"))
        try await running(first) { try await until { first.statistics.retried == 1 } }
        try await first.enqueue(Note("stored", in: "2"))
        await first.close()

        let second = try await site.broker()
        try second.routeNotes(to: log)
        try await running(second) {
            _ = try await log.wait(forCount: 1)
            try await until { second.statistics.succeeded == 1 }
            site.clock.advance(by: .seconds(30))
            await second.waitUntilIdle()
        }
        #expect(log.elements == ["stored", "paused"])
        await second.close()
    }

    @Test("The timer of a pause that has ended otherwise does not end a later one")
    func staleTimer() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number) at \(site.clock.uptime)")
            return switch attempt.number {
            case 1: .retry(after: .seconds(10))
            case 2: .retry(after: .seconds(20))
            default: .success
            }
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            site.clock.advance(by: .seconds(4))
            try await broker.retryNow("notes")
            try await until { broker.statistics.retried == 2 }
            // The first pause would have ended at 10, the second ends at 24.
            for _ in 0..<19 {
                site.clock.advance(by: .seconds(1))
                try await broker.file?.flush()
            }
            #expect(log.elements == ["a 1 at 0.0 seconds", "a 2 at 4.0 seconds"])
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
        }
        #expect(log.elements.last == "a 3 at 24.0 seconds")
    }

    @Test("A route for a name does not take the queues whose names merely begin with it")
    func overlappingPrefixes() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let (messages, archive) = (EventLog<String>(), EventLog<String>())
        try broker.routeNotes("Message/*", to: messages)
        try broker.routeNotes("MessageArchive/*", to: archive)
        try await broker.enqueue([
            Note("1", in: "Message/1"), Note("2", in: "MessageArchive/1"), Note("3", in: "MessageBox/1"),
        ])
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "MessageBox/1").state == .noRoute)
        }
        #expect(messages.elements == ["1"])
        #expect(archive.elements == ["2"])
        await broker.close()
    }

    @Test("A completion that is never called blocks its queue visibly, and a timeout frees it")
    func completionNeverCalled() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        let keeper = Keeper()
        let handler = NoteHandler { note, attempt, completion in
            defer { log.append(note.text) }
            guard note.text == "a", attempt.number == 1 else { return completion(.success) }
            // It heeds the cancellation, as a network library does whose request is cancelled.
            keeper.keep(completion)
            completion.onCancel { keeper.drop() }
        }
        try broker.route("*", to: handler, RouteOptions(retry: .fixed(.zero), timeout: .seconds(9)))
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            site.clock.advance(by: .seconds(8))
            let status = try await broker.status(of: "notes")
            #expect(status.state == .running)
            #expect("\(status)" == "notes: running since 2100-01-01T00:00:00.000000Z, attempt 1")
            #expect(log.elements == ["a"])
            try await site.clock.waitForSleeper(untilUptime: .seconds(9))
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "a", "b"])
        #expect(broker.statistics.timeouts == 1)
        await broker.close()
    }
}
