import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The shell at work on a file whose broker runs, on the clocks of the system.
@Suite("SQL while a broker runs", .watched)
struct SQLLiveTests {
    /// A handler that is held until the test lets it go, and notes what happens to it.
    private final class Held: Sendable {
        let log = EventLog<String>()
        private let released = Signal()

        func handle(_ note: Note) async -> Outcome {
            log.append("began \(note.text)")
            guard note.text.hasPrefix("held") else { return .success }
            await withTaskCancellationHandler {
                // Does not heed its cancellation: it returns when the test lets it.
                await released.receivedInAnyCase()
            } onCancel: {
                log.append("cancelled \(note.text)")
            }
            log.append("returned \(note.text)")
            return .success
        }

        func release() { released.send() }
    }

    private struct Live {
        let file: TemporaryFile
        let broker: Broker
        let held = Held()
        let shell: SQLShell

        init() async throws {
            file = try TemporaryFile()
            var options = BrokerOptions()
            options.file.foreignChangeInterval = .milliseconds(2)
            broker = try await Broker(file: file.path, options: options)
            shell = SQLShell(file.path)
            let held = held
            for pattern in ["q", "q/*"] as [QueuePattern] {
                try broker.route(pattern, Note.self) { note, _ in await held.handle(note) }
            }
        }

        /// Runs the broker while `body` is at work; then nobody is held any more, whatever has failed.
        func running(_ body: @Sendable () async throws -> Void) async throws {
            try await EngineSupport.running(broker) {
                defer { held.release() }
                try await body()
            }
        }
    }

    private static func insert(_ text: String, in queue: String = "q") -> String {
        """
        INSERT INTO sluice_actions (queue, kind, payload)
        VALUES ('\(queue)', 'note', '{"text":"\(text)"}');
        """
    }

    @Test("G11: an INSERT wakes the broker, in a queue that it knows and in a new one")
    func inserts() async throws {
        let live = try await Live()
        try await live.running {
            await live.broker.waitUntilIdle()
            for (count, queue) in ["q", "q/new", "q"].enumerated() {
                try await live.shell.run(Self.insert("\(count)", in: queue))
                let log = try await live.held.log.wait(forCount: count + 1)
                #expect(log == (0...count).map { "began \($0)" })
            }
        }
        #expect(try await live.broker.actionCount() == 0)
        #expect(try await live.shell.line("SELECT count(*) FROM sluice_changes") == "0")
        await live.broker.close()
    }

    @Test(
        "G3: DELETE of the running head cancels its handler, and the slot frees when the handler has returned"
    )
    func deletesRunning() async throws {
        let live = try await Live()
        try await live.running {
            try await live.broker.enqueue([Note("held", in: "q"), Note("next", in: "q")])
            _ = try await live.held.log.wait(forCount: 1)
            try await live.shell.run("DELETE FROM sluice_actions WHERE id = 1")
            try await #expect(live.held.log.wait(forCount: 2) == ["began held", "cancelled held"])
            // Another queue runs past it: the broker has had its time, and still nothing else of this queue
            // began.
            try await live.shell.run(Self.insert("other", in: "q/other"))
            try await #expect(live.held.log.wait(forCount: 3).last == "began other")
            #expect(
                try await live.shell.line("SELECT state, depth FROM sluice_queues WHERE queue = 'q'")
                    == "running|1"
            )
            live.held.release()
            try await #expect(live.held.log.wait(forCount: 5).suffix(2) == ["returned held", "began next"])
            await live.broker.waitUntilIdle()
        }
        let statistics = live.broker.statistics
        #expect(statistics.removed == 1 && statistics.succeeded == 2)
        await live.broker.close()
    }

    @Test("DELETE of a parked head lets the next one through")
    func deletesParked() async throws {
        let live = try await Live()
        try live.broker.route("strict", Note.self) { note, _ in
            live.held.log.append("strict \(note.text)")
            return note.text == "bad" ? .fail("bad") : .success
        }
        try await live.running {
            try await live.broker.enqueue([Note("bad", in: "strict"), Note("good", in: "strict")])
            await live.broker.waitUntilIdle()
            #expect(try await live.shell.line("SELECT state FROM sluice_queues") == "parked")
            try await live.shell.run("DELETE FROM sluice_actions WHERE id = 1")
            try await #expect(live.held.log.wait(forCount: 2) == ["strict bad", "strict good"])
        }
        await live.broker.close()
    }

    @Test("A move of the running head applies when its attempt ends, and its old queue goes on")
    func movesRunning() async throws {
        let live = try await Live()
        let attempts = EventLog<String>()
        let gate = EventLog<Void>()
        try live.broker.route("old", Note.self) { note, attempt in
            attempts.append("old \(note.text) \(attempt.number)")
            if note.text == "moved" { _ = try await gate.wait(forCount: 1) }
            return note.text == "moved" ? .retry(after: .zero) : .success
        }
        try live.broker.route("new", Note.self) { note, attempt in
            attempts.append("new \(note.text) \(attempt.number)")
            return .success
        }
        try await live.running {
            try await live.broker.enqueue([Note("moved", in: "old"), Note("stays", in: "old")])
            _ = try await attempts.wait(forCount: 1)
            try await live.shell.run("UPDATE sluice_actions SET queue = 'new' WHERE id = 1")
            #expect(try await live.shell.run("SELECT queue FROM sluice_actions") == ["old", "old"])
            gate.append(())
            let log = try await attempts.wait(forCount: 3)
            #expect(log.first == "old moved 1")
            #expect(Set(log.dropFirst()) == ["old stays 1", "new moved 2"])
            await live.broker.waitUntilIdle()
        }
        await live.broker.close()
    }

    @Test("G11: an UPDATE that ends a wait, or moves to a queue with a route, has the action run at once")
    func updates() async throws {
        let live = try await Live()
        let attempts = EventLog<Int>()
        try live.broker.route("waits", Note.self) { _, attempt in
            attempts.append(attempt.number)
            return attempt.number < 2 ? .retry(after: .seconds(86_400)) : .success
        }
        try await live.running {
            try await live.broker.enqueue(Note("a", in: "waits"))
            _ = try await attempts.wait(forCount: 1)
            while try await live.shell.line("SELECT state FROM sluice_queues") != "retry" {}
            try await live.shell.run("UPDATE sluice_actions SET next_attempt_at = NULL")
            try await #expect(attempts.wait(forCount: 2) == [1, 2])
            try await live.broker.enqueue(Note("lost", in: "nowhere"))
            while try await live.shell.run("SELECT state FROM sluice_queues") != ["no route"] {}
            try await live.shell.run("UPDATE sluice_actions SET queue = 'q'")
            try await #expect(live.held.log.wait(forCount: 1) == ["began lost"])
        }
        await live.broker.close()
    }

    @Test("G10, G15: an unknown kind and a payload that does not decode are shown, and mended by an UPDATE")
    func mends() async throws {
        let live = try await Live()
        try await live.running {
            try await live.shell.run(
                """
                INSERT INTO sluice_actions (queue, kind, payload)
                VALUES ('q/kind', 'novel', '{"text":"kind"}'),
                    ('q/payload', 'note', '{"txt":"secret"}');
                """
            )
            let expected = ["q/kind|unknown kind", "q/payload|undecodable"]
            while try await live.shell.run("SELECT queue, state FROM sluice_queues ORDER BY 1") != expected {}
            let error = try await live.shell.line(
                "SELECT last_error FROM sluice_actions WHERE queue = 'q/payload'"
            )
            #expect(error.contains("the key 'text' is missing") && !error.contains("secret"))
            try await live.shell.run("UPDATE sluice_actions SET kind = 'note' WHERE queue = 'q/kind'")
            try await #expect(live.held.log.wait(forCount: 1) == ["began kind"])
            try await live.shell.run("UPDATE sluice_actions SET payload = '{\"text\":\"payload\"}'")
            try await #expect(live.held.log.wait(forCount: 2).last == "began payload")
            await live.broker.waitUntilIdle()
        }
        #expect(try await live.broker.actionCount() == 0)
        await live.broker.close()
    }

    @Test("G3: an INSERT that sorts before the running head waits for it, and runs before the rest")
    func insertsBefore() async throws {
        let live = try await Live()
        try await live.running {
            try await live.broker.enqueue([
                Note("held", in: "q", order: .integer(5)), Note("late", in: "q", order: .integer(6)),
            ])
            _ = try await live.held.log.wait(forCount: 1)
            try await live.shell.run(
                """
                INSERT INTO sluice_actions (queue, kind, payload, sort_key)
                VALUES ('q', 'note', '{"text":"early"}', 1);
                """
            )
            try await live.shell.run(Self.insert("other", in: "q/other"))
            try await #expect(live.held.log.wait(forCount: 2).last == "began other")
            live.held.release()
            try await #expect(
                live.held.log.wait(forCount: 5).suffix(3) == [
                    "returned held", "began early", "began late",
                ]
            )
        }
        await live.broker.close()
    }

    @Test("G11: an action that SQL schedules for a moment from now runs when it is due")
    func schedules() async throws {
        let live = try await Live()
        try await live.running {
            await live.broker.waitUntilIdle()
            try await live.shell.run(
                """
                INSERT INTO sluice_actions (queue, kind, payload, not_before)
                SELECT 'q', 'note', '{"text":"soon"}', now_us + 20000 FROM sluice_clock;
                """
            )
            try await #expect(live.held.log.wait(forCount: 1) == ["began soon"])
        }
        await live.broker.close()
    }
}
