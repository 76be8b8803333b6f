import Foundation
import Sluice
import SluiceObservation
import SluiceTestKit
import TestSupport
import Testing

@Suite("Models of queues", .watched(minutes: 1)) @MainActor struct QueueModelTests {
    @Test("G15: queues are listed by name with why they do not move, and leave the list when they are empty")
    func list() async throws {
        let test = try await TestBroker { broker in
            try broker.route("chat/*", Message.self) { message, attempt in
                message.text == "refused" && attempt.number == 1 ? .fail("refused") : .success
            }
        }
        let list = QueueListModel(test.broker, "chat/*", clock: test.clock)
        try await until { list.isLoaded }
        #expect(list.statuses.isEmpty)
        try await test.broker.enqueue([
            Message("refused", in: "chat/2"), Message("a", in: "chat/1"), Message("b", in: "other"),
        ])
        try await until { list.statuses.map(\.queue) == ["chat/1", "chat/2"] }
        #expect(list["chat/1"]?.state == .stopped && list["other"] == nil)
        try await test.drain()
        try await until { list.statuses.map(\.queue) == ["chat/2"] && list["chat/2"]?.state == .parked }
        #expect(await list.retry("chat/2").value == true)
        try await test.drain()
        try await until { list.statuses.isEmpty }
        #expect(list.error == nil)
    }

    @Test("One queue, and the error of a call")
    func one() async throws {
        let test = try await TestBroker { broker in
            try broker.route("chat/*", Message.self) { _, _ in .fail("refused") }
        }
        let queue = QueueModel(test.broker, "chat/1", clock: test.clock)
        try await until { queue.isLoaded }
        #expect(queue.status == nil)
        try await test.broker.enqueue([Message("a"), Message("b"), Message("c", in: "chat/2")])
        try await until { queue.status?.depth == 2 }
        try await test.drain()
        try await until { queue.status?.state == .parked }
        try await test.close()
        #expect(await queue.retry().value == nil)
        #expect(queue.error?.code == .closed)
    }
}
