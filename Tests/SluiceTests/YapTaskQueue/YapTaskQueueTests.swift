import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

/// The nine tests of YapTaskQueue, on injected time and with sharper claims.
///
/// See <https://github.com/ChatSecure/YapTaskQueue>. Its "threads" are queues.
@Suite("YapTaskQueue's nine tests", .watched) struct YapTaskQueueTests {
    @Test("1. One action: it is handled, and nothing is left of it", arguments: QueueStorage.allCases)
    func oneAction(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            try await broker.enqueue(Note("name", in: "default"))
            _ = try await log.wait(forCount: 1)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["name"])
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test(
        "2. Many actions in one queue: in the order in which they were stored, each once",
        arguments: QueueStorage.allCases
    )
    func manyInOneQueue(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            for number in 0..<10 { try await broker.enqueue(Note("\(number)", in: "default")) }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == (0..<10).map { "\($0)" })
        await broker.close()
    }

    @Test("3. Many queues from many tasks: each keeps its own order", arguments: QueueStorage.allCases)
    func manyQueues(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let logs = (0..<5).map { _ in EventLog<String>() }
        for (number, log) in logs.enumerated() { try broker.routeNotes("\(number)", to: log) }
        try await running(broker) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for queue in 0..<5 {
                    group.addTask {
                        for number in 0..<(queue + 1) * 5 {
                            try await broker.enqueue(Note("\(number)", in: "\(queue)"))
                        }
                    }
                }
                try await group.waitForAll()
            }
            await broker.waitUntilIdle()
        }
        for (queue, log) in logs.enumerated() {
            #expect(log.elements == (0..<(queue + 1) * 5).map { "\($0)" })
        }
        await broker.close()
    }

    @Test("4. Set-up: a fresh file, a route and an empty run need nothing else")
    func setUp() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.route("queue1/*", Note.self) { _, _ in .success }
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.statuses().isEmpty)
        #expect(broker.statistics == Statistics())
        await broker.close()
    }

    @Test("5. Pausing: a queue that is parked stays so until it is restarted, and restarts at once")
    func pausing() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("queue", Note.self, retrying(.halt)) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            throw TestError("paused")
        }
        try await broker.enqueue(Note("0", in: "queue"))
        try await running(broker) {
            for restart in 1...2 {
                await broker.waitUntilIdle()
                site.clock.advance(by: .seconds(1_000_000))
                await broker.waitUntilIdle()
                #expect(log.elements.count == restart)
                try await #expect(broker.retryNow("queue") == 1)
                _ = try await log.wait(forCount: restart + 1)
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["0 1", "0 2", "0 3"])
        try await #expect(broker.actionCount() == 1)
    }

    @Test("6. Pausing with a timeout: the same action is tried again after it, and only then the next")
    func pausingWithTimeout() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("queue", Note.self) { note, _ in
            log.append("\(note.text) at \(site.clock.uptime)")
            return log.elements.count == 1 ? .retry(after: .seconds(3)) : .success
        }
        try await broker.enqueue([Note("0", in: "queue"), Note("1", in: "queue")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(3))
            site.clock.advance(by: .milliseconds(2_999))
            try await broker.file?.flush()
            #expect(log.elements.count == 1)
            site.clock.advance(by: .milliseconds(1))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["0 at 0.0 seconds", "0 at 3.0 seconds", "1 at 3.0 seconds"])
    }

    @Test("7. Deleting: removing the head that waits lets the next one through, without waiting out its time")
    func deleting() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("queue", Note.self) { note, _ in
            log.append("\(note.text) at \(site.clock.uptime)")
            return note.text == "0" ? .retry(after: .seconds(10)) : .success
        }
        let ids = try await broker.enqueue([Note("0", in: "queue"), Note("1", in: "queue")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(10))
            site.clock.advance(by: .seconds(3))
            try await broker.file?.flush()
            #expect(log.elements.count == 1)
            try await #expect(broker.cancel(ids[0]) == .removed)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["0 at 0.0 seconds", "1 at 3.0 seconds"])
    }

    @Test("8. Deleting and adding: what is stored again after its removal is new, and waits for nothing")
    func deletingAndAdding() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let note = Note("0", in: "queue")
        try broker.route("queue", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number) at \(site.clock.uptime)")
            return log.elements.count == 1 ? .retry(after: .seconds(10)) : .success
        }
        let first = try await broker.enqueue(note).id
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(10))
            site.clock.advance(by: .seconds(3))
            try await broker.cancel(first)
            let second = try await broker.enqueue(note).id
            #expect(second > first)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["0 1 at 0.0 seconds", "0 1 at 3.0 seconds"])
    }

    @Test(
        "8b. Deleting and adding in one transaction of another connection: the new row does not wait either"
    )
    func deletingAndAddingAtOnce() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.foreignChangeInterval = .milliseconds(100) }
        let log = EventLog<String>()
        try broker.route("queue", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return log.elements.count == 1 ? .retry(after: .seconds(1_000_000)) : .success
        }
        let id = try await broker.enqueue(Note("0", in: "queue")).id
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            try site.shell(
                """
                BEGIN IMMEDIATE;
                DELETE FROM sluice_actions WHERE id = \(id);
                INSERT INTO sluice_actions (queue, kind, payload) VALUES ('queue', 'note', '{"text":"new"}');
                COMMIT;
                """
            )
            while log.elements.count < 2 {
                site.clock.advance(by: .milliseconds(100))
                for _ in 0..<10 { await Task.yield() }
            }
        }
        #expect(site.clock.uptime < .seconds(1_000_000))
        #expect(log.elements == ["0 1", "new 1"])
        await broker.close()
    }

    @Test(
        "9. Moving from one queue to another: a handler stores it under another broker's name, and succeeds"
    )
    func moving() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("handler1/*", Note.self) { note, _ in
            log.append("handler1 \(note.text)")
            try await broker.enqueue(Note("copy of \(note.text)", in: "handler2/queue"))
            return .success
        }
        try broker.route("handler2/*", Note.self) { note, attempt in
            log.append("handler2 \(note.text) in \(attempt.queue)")
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("it", in: "handler1/queue"))
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["handler1 it", "handler2 copy of it in handler2/queue"])
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }
}
