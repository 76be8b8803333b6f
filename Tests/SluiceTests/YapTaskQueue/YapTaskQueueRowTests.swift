import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What else YapTaskQueue does, by its source: each must work here.
@Suite("YapTaskQueue's row", .watched) struct YapTaskQueueRowTests {
    /// A handler as an object of its own, as one writes it for a broker of that library.
    private final class Uploader: Handler {
        let log: EventLog<String>

        init(_ log: EventLog<String>) { self.log = log }

        func handle(_ action: Photo, _ attempt: Attempt) async throws -> Outcome {
            log.append("uploader: \(action.album)")
            return .success
        }
    }

    @Test("YapTaskQueue: several handler objects on one file, each for the queues that its name begins")
    func severalHandlers() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("uploads/*", to: Uploader(log))
        let receipts = NoteHandler { note, _, completion in
            log.append("receipts: \(note.text)")
            completion(success: true, retryTimeout: nil)
        }
        try broker.route("receipts/*", to: receipts)
        try broker.route("messages/*", Note.self) { note, attempt in
            log.append("messages: \(note.text)")
            return .success
        }
        // Of two prefixes the longer one wins, whichever was added first.
        try broker.route("messages/work/*", Note.self) { note, _ in
            log.append("work: \(note.text)")
            return .success
        }
        try broker.route("messages/vip", completing: Note.self) { note, _, completion in
            log.append("vip: \(note.text)")
            completion(success: true, retryTimeout: .seconds(9))
        }
        try await broker.enqueue(Photo(album: "uploads/1", width: 1))
        try await broker.enqueue([
            Note("a", in: "messages/1"), Note("b", in: "receipts/1"), Note("c", in: "messages/vip"),
            Note("d", in: "uploads/1"), Note("e", in: "messages/work/7"),
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(
            log.elements.sorted() == [
                "messages: a", "receipts: b", "uploader: uploads/1", "vip: c", "work: e",
            ]
        )
        // A queue is not handed to a handler that does not know the kind.
        try await #expect(broker.status(of: "uploads/1").state == .unknownKind)
        await broker.close()
    }

    @Test("YapTaskQueue: handlers of several brokers on one file: each queue is run by one, in order")
    func severalBrokers() async throws {
        let site = try Site()
        let brokers = try await [
            site.broker { $0.standFor(process: 1) }, site.broker { $0.standFor(process: 2) },
        ]
        let (log, inside, goOn) = (EventLog<String>(), HandlersInside(), Signal())
        for (name, broker) in zip(["handler1", "handler2"], brokers) {
            try broker.route("\(name)/*", Note.self) { note, attempt in
                inside.enter(attempt.queue)
                defer { inside.leave(attempt.queue) }
                log.append(note.text)
                try await goOn.received()
                return .success
            }
        }
        try await running(brokers[0]) {
            try await running(brokers[1]) {
                for number in 0..<10 {
                    try await brokers[0].enqueue(Note("2 \(number)", in: "handler2/queue"))
                    try await brokers[1].enqueue(Note("1 \(number)", in: "handler1/queue"))
                }
                for broker in brokers { try await broker.fileEngine.store.readForeignChanges() }
                _ = try await log.wait(forCount: 2)
                try await inside.settle(brokers[0], brokers[1])
                #expect(inside.count == 2 && inside.most == 1)
                goOn.send()
                _ = try await log.wait(forCount: 20)
            }
        }
        #expect(inside.most == 1)
        for handler in ["1", "2"] {
            #expect(log.elements.filter { $0.hasPrefix(handler) } == (0..<10).map { "\(handler) \($0)" })
        }
        for broker in brokers { await broker.close() }
    }

    @Test("YapTaskQueue: an action is a row of the application's database, seen there until it is done")
    func rows() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let seen = EventLog<Int>()
        try broker.route("queue", Note.self) { _, _ in
            seen.append(try await broker.actionSummaries("queue").count)
            return .success
        }
        try site.shell("CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT)")
        try site.shell(
            """
            BEGIN IMMEDIATE;
            INSERT INTO messages (text) VALUES ('it');
            INSERT INTO sluice_actions (queue, kind, payload) VALUES ('queue', 'note', '{"text":"it"}');
            COMMIT;
            """
        )
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(seen.elements == [1])
        try await #expect(broker.actionSummaries("queue").isEmpty)
        await broker.close()
    }

    @Test("YapTaskQueue: actions are sorted by what they say, such as a date, whenever they were stored")
    func sorted() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let dates = [30, 10, 20].map { Date(timeIntervalSince1970: $0) }
        try await broker.enqueue(zip(["c", "a", "b"], dates).map { Note($0, order: .date($1)) })
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a", "b", "c"])
    }

    @Test(
        "YapTaskQueue: completion(success, retryTimeout): done, again after a time, or paused until restarted"
    )
    func completion() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", completing: Note.self, RouteOptions(failure: .all(.skip))) {
            note,
            attempt,
            completion in
            log.append("\(note.text) \(attempt.number) at \(site.clock.uptime)")
            switch (note.text, attempt.number) {
            case ("later", 1): completion(success: false, retryTimeout: .seconds(5))
            case ("at once", 1): completion(success: false, retryTimeout: .zero)
            case ("paused", 1): completion(success: false, retryTimeout: nil)
            // As its own library writes it.
            case ("paused too", 1): completion(success: false, retryTimeout: .seconds(-1))
            default: completion(success: true, retryTimeout: .seconds(5))
            }
        }
        for text in ["done", "later", "at once", "paused", "paused too"] {
            try await broker.enqueue(Note(text, in: QueueName(text)))
        }
        try await running(broker) {
            _ = try await log.wait(forCount: 6)
            try await until { broker.statistics.failed == 2 && broker.statistics.retried == 2 }
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            _ = try await log.wait(forCount: 7)
            site.clock.advance(by: .seconds(1_000_000))
            await broker.waitUntilIdle()
            for name in ["paused", "paused too"] as [QueueName] {
                let status = try await broker.status(of: name)
                #expect(
                    status.description
                        == "\(name): parked by action \(try #require(status.head)) after failure "
                        + "(failed): paused by its handler"
                )
            }
            try await #expect(broker.retryNow("paused") == 1)
            await broker.waitUntilIdle()
        }
        let start = "0.0 seconds"
        #expect(
            Set(log.elements.prefix(6)) == [
                "done 1 at \(start)", "later 1 at \(start)", "at once 1 at \(start)",
                "at once 2 at \(start)", "paused 1 at \(start)", "paused too 1 at \(start)",
            ]
        )
        #expect(log.elements.dropFirst(6) == ["later 2 at 5.0 seconds", "paused 2 at 1000005.0 seconds"])
        try await #expect(broker.deadLetters().isEmpty)
    }

    @Test(
        "YapTaskQueue: the removal of a head that has paused its queue lets the next one through, by SQL too"
    )
    func removalUnblocks() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return note.text.hasPrefix("bad") ? .halt("no connection") : .success
        }
        let ids = try await broker.enqueue([Note("bad 1"), Note("bad 2"), Note("good")])
        try await running(broker) {
            try await until { broker.statistics.failed == 1 }
            try await #expect(broker.status(of: "notes").state == .parked)
            try await #expect(broker.cancel(ids[0]) == .removed)
            try await until { broker.statistics.failed == 2 }
            try site.shell("DELETE FROM sluice_actions WHERE id = \(ids[1])")
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["bad 1", "bad 2", "good"])
        await broker.close()
    }

    @Test("YapTaskQueue: an action moves to another queue as it is, and is run there")
    func moved() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.route("from", Note.self) { _, _ in .halt("no connection") }
        try broker.route("to", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.id) \(attempt.number) in \(attempt.queue)")
            return .success
        }
        let ids = try await broker.enqueue([Note("it", in: "from"), Note("next", in: "from")])
        try await running(broker) {
            try await until { broker.statistics.failed == 1 }
            try await #expect(broker.move(ids[0], to: "to") == .done)
            await broker.waitUntilIdle()
            // The parking that it had caused has gone with it: the next one was tried.
            #expect(broker.statistics.failed == 2)
        }
        #expect(log.elements == ["it \(ids[0]) 2 in to"])
        try await #expect(broker.actionSummaries("from").map(\.id) == [ids[1]])
        await broker.close()
    }

    @Test("YapTaskQueue: paused queues are restarted by their names, and the rest all together")
    func restarting() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(attempt.queue) \(attempt.number)")
            return attempt.number == 1 ? .halt("no connection") : .success
        }
        let names = (1...5).map { QueueName("queue/\($0)") }
        for name in names { try await broker.enqueue([Note("a", in: name), Note("b", in: name)]) }
        try await running(broker) {
            try await until { broker.statistics.failed == 5 }
            try await #expect(broker.retryNow(queues: [names[1], names[3], names[1], "unknown"]) == 2)
            // The second action of each of them pauses it once more.
            try await until { broker.statistics.failed == 7 }
            #expect(broker.statistics.succeeded == 2)
            try await #expect(broker.retryNow(queues: [QueueName]()) == 0)
            try await #expect(broker.retryNow() == 5)
            try await until { broker.statistics.failed == 10 }
            try await #expect(broker.retryNow("queue/*") == 3)
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 10)
        #expect(log.elements.count == 20)
    }

    @Test("YapTaskQueue: a queue that was paused is so after a relaunch, and is restarted as before")
    func pausedOverRelaunch() async throws {
        let site = try Site()
        let log = EventLog<String>()
        func open() async throws -> Broker {
            let broker = try await site.broker()
            try broker.route("queue", Note.self) { note, attempt in
                log.append("\(note.text) \(attempt.number)")
                return attempt.number == 1 ? .halt("no connection") : .success
            }
            return broker
        }
        let first = try await open()
        try await first.enqueue(Note("a", in: "queue"))
        try await running(first) { await first.waitUntilIdle() }
        await first.close()

        let second = try await open()
        try await running(second) {
            await second.waitUntilIdle()
            #expect(log.elements == ["a 1"])
            try await second.retryNow(queues: ["queue"])
            await second.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 2"])
        await second.close()
    }

    @Test(
        "YapTaskQueue: a handler that pauses its queue does so whatever the failure policy is"
    )
    func halting() {
        var generator: any RandomNumberGenerator = SplitMix(seed: 1)
        let attempt = Attempt(
            id: ActionID(rawValue: 1),
            queue: "q",
            kind: "note",
            version: 1,
            number: 1,
            nonce: 1,
            enqueuedAt: Date(timeIntervalSince1970: 0),
            lastError: nil
        )
        for policy in FailurePolicy.allCases {
            let settlement = Settlement(
                of: .outcome(.halt("no connection")),
                attempt: attempt,
                cancelledBy: nil,
                options: RouteOptions(failure: .all(policy)),
                using: &generator
            )
            #expect(settlement == .fail(.failed, .block, error: "no connection"))
        }
    }
}
