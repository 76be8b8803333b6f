import Dispatch
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// An executor that can be held: what is to run on it waits until it is let go.
private final class HeldExecutor: TaskExecutor {
    private let held = Mutex<[UnownedJob]?>(nil)
    private let runningCount = Atomic(0)

    /// No thread is at work for it: what has begun waits for something else.
    var isIdle: Bool { runningCount.load(ordering: .acquiring) == 0 }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isHeld = held.withLock { held in
            held?.append(job)
            return held != nil
        }
        if !isHeld { run(job) }
    }

    func hold() { held.withLock { $0 = $0 ?? [] } }

    func letGo() {
        for job in held.withLock({ $0.take() }) ?? [] { run(job) }
    }

    private func run(_ job: UnownedJob) {
        runningCount.add(1, ordering: .relaxed)
        DispatchQueue.global().async { [self] in
            job.runSynchronously(on: asUnownedTaskExecutor())
            runningCount.subtract(1, ordering: .releasing)
        }
    }
}

/// An action is claimed in the transaction that settles the one before.
///
/// Until the task goes on its handler has not begun; what is asked for in between must not be lost.
@Suite("Cancelling what has just been claimed", .watched) struct EarlyCancelTests {
    /// Runs `a`, and has `body` at work while `b` is claimed and has not begun.
    private func claimed(_ body: @Sendable (Site, Broker, ActionID) async throws -> Void) async throws {
        let site = try Site()
        let executor = HeldExecutor()
        let broker = try await site.broker {
            $0.handlerExecutor = executor
            // It stands still: of its own accord the broker writes nothing meanwhile.
            $0.clock = ManualClock()
        }
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            guard note.text == "b" else {
                try await go.received()
                executor.hold()
                return .success
            }
            try await untilCancelled()
            return .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        let path = try #require(site.file).path
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            do {
                // While the lock is taken the settling goes to the writer's own thread, and `a`'s task waits.
                let other = try Connection(path: path, mode: .write)
                // What the broker has to write at its start has been written.
                try await until {
                    broker.fileEngine.isAtRest(butFor: 1) && !broker.fileEngine.store.writer.load.isLed
                }
                try other.execute("BEGIN IMMEDIATE")
                go.send()
                try await until { broker.fileEngine.store.writer.load.isLed && executor.isIdle }
                try other.execute("COMMIT")
            }
            let claim = "SELECT count(*) FROM sluice_claim_rows WHERE action_id = \(ids[1])"
            try await until { try await SQLShell(path).line(claim) == "1" }
            try await body(site, broker, ids[1])
            #expect(log.elements == ["a"])
            executor.letGo()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        #expect(broker.statistics.removed == 1)
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A cancellation is heeded by a handler that has not begun")
    func cancelled() async throws {
        try await claimed { _, broker, action in
            try await #expect(broker.cancel(action) == .signalled)
        }
    }

    @Test("A cancellation by another process is heeded by a handler that has not begun")
    func cancelledElsewhere() async throws {
        try await claimed { site, broker, action in
            try site.cancelElsewhere(action)
            try await broker.file?.flush()
        }
    }

    @Test("A deletion by the shell is heeded by a handler that has not begun")
    func deleted() async throws {
        try await claimed { site, broker, action in
            try site.shell("DELETE FROM sluice_actions WHERE id = \(action)")
            // The next write takes the deletion in.
            try await broker.file?.flush()
        }
    }
}
