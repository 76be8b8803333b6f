import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Cancelled enqueues", .watched)
struct StoreCancellationTests {
    @Test("G14: an enqueue that is cancelled before its group starts is not stored, one in the group stands")
    func cancelled() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let other = try fixture.connect()
        try other.beginImmediate()
        // Leads, and waits for the lock: its group has begun.
        let begun = Task { try await store.add("begun") }
        try await until { store.writer.load.isLed && store.writer.load.waiting == 0 }
        let waiting = Task { try await store.add("waiting") }
        try await until { store.writer.load.waiting > 0 }
        begun.cancel()
        waiting.cancel()
        // It does not wait for the lock, which is still held.
        await #expect(throws: CancellationError.self) { try await waiting.value }
        other.rollback()
        #expect(try await begun.value.rawValue == 1)
        #expect(try await store.drain() == ["begun"])
    }

    @Test("G14: an enqueue in a task that was cancelled before is not stored")
    func cancelledBefore() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let start = Signal()
        let task = Task {
            await start.receivedInAnyCase()
            return try await store.add("late")
        }
        task.cancel()
        start.send()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await store.actionCount() == 0)
    }

    @Test("A write that was taken back is not performed, one that was performed cannot be taken back")
    func withdrawn() async throws {
        let fixture = try await StoreFixture()
        let other = try fixture.connect()
        try other.beginImmediate()
        let log = EventLog<String>()
        func write(_ text: String) -> Write {
            Write(
                sync: .owed,
                body: { _ in text },
                completion: { log.append((try? $0.get()) ?? "failed") }
            )
        }
        let (first, second, third) = (write("first"), write("second"), write("third"))
        for write in [first, second, third] { fixture.store.writer.submit(write) }
        #expect(!fixture.store.writer.withdraw(first))
        #expect(fixture.store.writer.withdraw(second))
        #expect(!fixture.store.writer.withdraw(second))
        other.rollback()
        try await #expect(log.wait(forCount: 2) == ["first", "third"])
        #expect(!fixture.store.writer.withdraw(third))
    }
}
