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
        #expect(await list.cancel(ids[1]).value == .removed)
        try await until { list[tag: "m-1"]?.id == ids[0] }
        try await test.broker.setTag(ids[0], "m-2")
        try await until { list[tag: "m-1"] == nil && list[tag: "m-2"]?.id == ids[0] }
        #expect(list.hasLeft(tag: "m-1") && !list.hasLeft(tag: "m-2") && !list.hasLeft(tag: "m-3"))
    }

    @Test("Calls with a tag find an action that the list has not read, and say what they have done")
    func callsByTag() async throws {
        let test = try await broker()
        // A list of another queue never reads these.
        let list = try await loaded(test, .queue("chat/9"))
        let options = EnqueueOptions(tag: "m-1")
        let ids = try await test.broker.enqueue([Message("refused"), Message("later")], options)
        #expect(await list.edit(tag: "m-1", to: Message("b")).value == .done)
        #expect(await list.edit(tag: "m-2", to: Message("b")).value == .missing)
        #expect(await list.retry(tag: "m-1").value == false)
        #expect(await list.retry(tag: "m-2").value == false)
        try await test.drain()
        test.holdAttempts()
        #expect(await list.retry(tag: "m-1").value == true)
        try await test.drain()
        #expect(await list.edit(ids[0], to: Message("late")).value == .deferred)
        #expect(await list.retry(ids[0]).value == false)
        #expect(await list.cancel(ids[0]).value == .signalled)
        try await test.drain()
        #expect(await list.cancel(ids[0]).value == .tooLate)
        #expect(await list.cancel(tag: "m-1").value?.signalled == 1)
        #expect(list.error == nil && list.states.isEmpty)
    }

    @Test("Try again: after a wait, after a failure that parked the queue, and on a schedule")
    func retry() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        let later = try await test.broker.enqueue(Message("later")).id
        try await test.drain()
        #expect(await list.retry(later).value == true)
        try await test.drain()
        try await until { list.states.isEmpty }

        let refused = try await test.broker.enqueue(Message("refused")).id
        try await test.drain()
        try await until { list[refused]?.phase == .parked(.failed, since: test.clock.date) }
        #expect(list[refused]?.lastError == "refused")
        #expect(await list.edit(refused, to: Message("polite")).value == .done)
        #expect(await list.retry(refused).value == true)
        try await test.drain()
        try await until { list.states.isEmpty }

        let evening = test.clock.date.addingTimeInterval(3_600)
        let scheduled = try await test.broker.enqueue(Message("d"), EnqueueOptions(notBefore: evening)).id
        try await until { list[scheduled]?.phase == .scheduled(for: evening) }
        #expect(await list.retry(scheduled).value == true)
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
        #expect(await list.retry(id).value == true)
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
        #expect(await list.cancel(id).value == nil)
        #expect(list.error?.code == .closed)
        list.error = nil
        #expect(list.error == nil)
    }

    @Test("A read clears the error of a read, and not that of a call")
    func errorsApart() async throws {
        let test = try await broker()
        let list = ActionListModel(test.broker, .matching("chat/*"), clock: test.clock)
        // It is refused before anything is read.
        #expect(await list.cancel(tag: "").value == nil)
        try await until { list.isLoaded }
        #expect(list.error?.code == .invalidOptions)

        let unreadable = ActionListModel(test.broker, .queue(""), clock: test.clock)
        try await until { unreadable.error?.code == .invalidQueueName }
        #expect(await unreadable.cancel(tag: "").value == nil)
        #expect(unreadable.error?.code == .invalidOptions)
        unreadable.error = nil
        try await test.clock.waitForSleeper(untilUptime: .seconds(1))
        test.clock.advance(by: .seconds(1))
        try await until { unreadable.error?.code == .invalidQueueName }
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
