import Foundation
import Sluice
import SluiceObservation
import SluiceTestKit
import Testing

@Suite("Models of actions", .timeLimit(.minutes(1))) @MainActor struct ActionListModelTests {
    private struct Reference { weak var model: ActionListModel? }

    /// A broker that refuses messages with the text "refused", and at first those with "later".
    private func broker() async throws -> TestBroker {
        try await TestBroker { broker in
            let options = RouteOptions(retry: .fixed(.seconds(30)))
            try broker.route("chat/*", Message.self, options) { message, attempt in
                switch message.text {
                case "refused": .fail("refused")
                case "later" where attempt.number == 1: .retry
                default: .success
                }
            }
        }
    }

    private func loaded(
        _ test: TestBroker,
        _ selection: ActionSelection = .matching("chat/*")
    ) async throws -> ActionListModel {
        let list = ActionListModel(test.broker, selection, clock: test.clock)
        try await until { list.isLoaded }
        return list
    }

    @Test("G15: a list shows each action from its enqueue to its end, by number and by tag")
    func life() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        #expect(list.states.isEmpty && list[tag: "m-1"] == nil)
        let first = try await test.broker.enqueue(Message("later"), EnqueueOptions(tag: "m-1")).id
        let second = try await test.broker.enqueue(Message("b"), EnqueueOptions(tag: "m-2")).id
        try await until { list[tag: "m-1"]?.phase == .waiting && list[second]?.phase == .waiting }
        #expect(list.states.map(\.id) == [first, second])
        try await test.drain()
        let due = test.clock.date.addingTimeInterval(30)
        try await until { list[first]?.phase == .retrying(at: due) }
        #expect(list[tag: "m-2"]?.phase == .waiting)
        try await test.drain(for: .seconds(30))
        try await until { list.states.isEmpty }
        #expect(list[tag: "m-1"] == nil && list[first] == nil && list.error == nil)
    }

    @Test("What was in the file before is shown too; other queues are not")
    func snapshot() async throws {
        let test = try await broker()
        let ids = try await test.broker.enqueue([Message("b"), Message("a", in: "chat/2"), Message("c")])
        let one = try await loaded(test, .queue("chat/1"))
        #expect(one.states.map(\.id) == [ids[0], ids[2]])
        let all = try await loaded(test)
        #expect(all.states.map(\.id) == ids)
    }

    @Test("Several actions with a tag: the newest is shown, and after its end the one before")
    func tags() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        let options = EnqueueOptions(tag: "m-1")
        let ids = try await test.broker.enqueue([Message("a"), Message("b")], options)
        try await until { list[tag: "m-1"]?.id == ids[1] }
        list.cancel(ids[1])
        try await until { list[tag: "m-1"]?.id == ids[0] }
        try await test.broker.setTag(ids[0], "m-2")
        try await until { list[tag: "m-1"] == nil && list[tag: "m-2"]?.id == ids[0] }
    }

    @Test("Try again: after a wait, after a failure that parked the queue, and on a schedule")
    func retry() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        let later = try await test.broker.enqueue(Message("later")).id
        try await test.drain()
        await list.retry(later).value
        try await test.drain()
        try await until { list.states.isEmpty }

        let refused = try await test.broker.enqueue(Message("refused")).id
        try await test.drain()
        try await until { list[refused]?.phase == .parked(.failed, since: test.clock.date) }
        #expect(list[refused]?.lastError == "refused")
        await list.edit(refused, to: Message("polite")).value
        await list.retry(refused).value
        try await test.drain()
        try await until { list.states.isEmpty }

        let evening = test.clock.date.addingTimeInterval(3_600)
        let scheduled = try await test.broker.enqueue(Message("d"), EnqueueOptions(notBefore: evening)).id
        try await until { list[scheduled]?.phase == .scheduled(for: evening) }
        await list.retry(scheduled).value
        try await test.drain()
        try await until { list.states.isEmpty }
        #expect(list.error == nil)
    }

    @Test("Try again puts a dead letter back")
    func deadLetter() async throws {
        let test = try await TestBroker { broker in
            let options = RouteOptions(failure: .all(.skip))
            try broker.route("chat/*", Message.self, options) { _, _ in .fail("refused") }
        }
        let list = try await loaded(test)
        let id = try await test.broker.enqueue(Message("a")).id
        try await test.drain()
        try await until { list[id]?.phase == .dead(.failed, at: test.clock.date) }
        test.holdAttempts()
        await list.retry(id).value
        try await test.drain()
        try await until { list[id]?.phase == .running(since: test.clock.date) }
        try await test.finish(id)
        try await until { list.states.isEmpty }
    }

    @Test("The error of a call is shown until it is cleared")
    func error() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        let id = try await test.broker.enqueue(Message("a")).id
        try await test.close()
        await list.cancel(id).value
        #expect(list.error?.code == .closed)
        list.error = nil
        #expect(list.error == nil)
    }

    @Test("A model is released while it follows")
    func released() async throws {
        let test = try await broker()
        var list: ActionListModel? = try await loaded(test)
        let reference = Reference(model: list)
        #expect(reference.model != nil)
        list = nil
        #expect(reference.model == nil)
    }
}
