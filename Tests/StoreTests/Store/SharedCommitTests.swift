import Dispatch
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Outcomes that come at the same time", .watched) struct SharedCommitTests {
    /// Whether a write is performed on the thread of its caller, while nobody else writes.
    private func isPerformedByCaller(_ store: Store, commitsOnWriterThread: Bool) async throws -> Bool {
        let caller = DispatchQueue(label: "test.caller")
        let key = DispatchSpecificKey<Bool>()
        caller.setSpecific(key: key, value: true)
        return try await withCheckedThrowingContinuation { continuation in
            caller.async {
                let write = Write(
                    sync: .later,
                    commitsOnWriterThread: commitsOnWriterThread,
                    body: { _ in DispatchQueue.getSpecific(key: key) == true },
                    completion: { continuation.resume(with: $0) }
                )
                store.writer.submit(write)
            }
        }
    }

    @Test("A lone write is performed by its caller, one of many by the writer's own thread")
    func whoPerforms() async throws {
        let fixture = try await StoreFixture()
        #expect(try await isPerformedByCaller(fixture.store, commitsOnWriterThread: false))
        #expect(try await !isPerformedByCaller(fixture.store, commitsOnWriterThread: true))
    }

    /// Handlers that run one after the other, on one thread: each could commit its own outcome before the
    /// next begins.
    @Test("The outcomes of many queues share commits, though one thread runs all handlers")
    func oneThread() async throws {
        let site = try Site()
        let handlers = DispatchQueue(label: "test.handlers")
        let broker = try await site.broker { $0.handlerExecutor = DispatchExecutor(handlers) }
        try broker.route("*", Note.self) { _, _ in .success }
        let (queues, each) = (32, 50)
        let notes = (0..<queues * each).map { Note("\($0)", in: QueueName("q/\($0 % queues)")) }
        try await broker.enqueue(notes)
        let before = broker.fileEngine.store.turns.count
        try await running(broker) { await broker.waitUntilIdle() }
        let commits = broker.fileEngine.store.turns.count - before
        #expect(broker.statistics.succeeded == notes.count)
        #expect(commits < notes.count / 2, "\(commits) commits")
        await broker.close()
    }
}
