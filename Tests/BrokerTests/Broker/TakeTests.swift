import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Actions that come from elsewhere", .watched) struct TakeTests {
    private var action: TransferredAction {
        var action = TransferredAction(queue: "q", kind: "note", sortKey: .arrival, payload: "1")
        action.key = DeduplicationKey("a", policy: .refuse)
        action.attempts = 2
        action.enqueuedAt = Timestamp(microseconds: 1_000_000)
        return action
    }

    @Test(
        "They keep their attempts and their time, and enter once by their key",
        arguments: QueueStorage.allCases
    )
    func kept(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let ids = try await broker.take([action, action])
        try await #expect(broker.take([action]) == [nil])
        #expect(ids.count == 2 && ids[1] == nil)
        let first = try #require(ids[0])
        let facts = try await broker.actionSummaries("q")
        #expect(facts.map(\.id) == [first])
        #expect(facts.map(\.attempts) == [2])
        #expect(facts.map(\.enqueuedAt) == [Date(timeIntervalSince1970: 1)])
        await broker.close()
    }

    @Test("Attempts and keys beyond their limits are refused, and nothing is stored")
    func refused() async throws {
        let site = try Site()
        let broker = try await site.broker()
        for attempts in [-1, TransferredAction.maximumAttempts + 1] {
            var wrong = action
            wrong.attempts = attempts
            let actions = [action, wrong]
            #expect(await refusal { try await broker.take(actions) } == .invalidOptions)
        }
        for text in ["", "a\0", String(repeating: "a", count: 256)] {
            var wrong = action
            wrong.key = DeduplicationKey(text)
            let actions = [action, wrong]
            #expect(await refusal { try await broker.take(actions) } == .invalidOptions)
        }
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }
}
