#if PostgreSQL
import Sluice
import SluicePostgres
import TestSupport
import Testing

extension PostgresLeaseTests {
    @Test("G8: of payloads that a slow link does not carry in time, fewer are asked for")
    func slowLink() async throws {
        defer { proxy.end() }
        let (broker, other) = (try await broker(isBehindProxy: true), try await broker())
        try broker.route("*", Note.self) { _, _ in .success }
        // A third of the lease carries 600,000 bytes of these 2,000,000.
        let text = String(repeating: "x", count: 100_000)
        var receipts: [EnqueueReceipt] = []
        for queue in 0..<20 {
            receipts.append(try await other.enqueue(Note(text, in: QueueName("slow/\(queue)"))))
        }
        proxy.slow(to: 900_000)
        let run = Task { try await broker.run() }
        for receipt in receipts { try await #expect(receipt.settled() != .removed) }
        try await #expect(other.actionCount() == 0)
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await other.close()
    }
}
#endif
