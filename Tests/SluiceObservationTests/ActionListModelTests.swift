import Foundation
import Sluice
import SluiceObservation
import SluiceTestKit
import TestSupport
import Testing

@Suite("Models of actions", .watched(minutes: 1)) @MainActor struct ActionListModelTests {
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
        try await test.broker.setTag("m-2", of: ids[0])
        try await until { list[tag: "m-1"] == nil && list[tag: "m-2"]?.id == ids[0] }
    }

    @Test("How the last action with a tag ended is known when all with the tag have left the list")
    func ends() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        let options = EnqueueOptions(tag: "m-1")
        let ids = try await test.broker.enqueue([Message("a"), Message("b")], options)
        try await until { list[tag: "m-1"]?.id == ids[1] }
        #expect(await list.cancel(ids[1]).value == .removed)
        try await until { list[tag: "m-1"]?.id == ids[0] }
        #expect(list.end(tag: "m-1") == nil)
        // The action is still there, but it is not of this tag any more.
        try await test.broker.setTag("m-2", of: ids[0])
        try await until { list.end(tag: "m-1") == .unknown }
        #expect(list.end(tag: "m-2") == nil && list.end(tag: "m-3") == nil)
        try await test.drain()
        try await until { list.end(tag: "m-2") == .succeeded }

        try await test.broker.hold("chat/1", by: "ann")
        try await test.broker.enqueue(Message("c"), options)
        try await until { list[tag: "m-1"] != nil }
        #expect(list.end(tag: "m-1") == nil)
        #expect(await list.cancel(tag: "m-1").value?.removed == 1)
        try await until { list.end(tag: "m-1") == .removed }
        #expect(list.end(tag: "m-2") == .succeeded && list.states.isEmpty)
    }

    @Test("An action that moves to a queue outside the selection has no known end")
    func moved() async throws {
        let test = try await broker()
        let list = try await loaded(test, .queue("chat/1"))
        let id = try await test.broker.enqueue(Message("a"), EnqueueOptions(tag: "m-1")).id
        try await until { list[tag: "m-1"] != nil }
        try await test.broker.move(id, to: "chat/2")
        try await until { list.end(tag: "m-1") == .unknown }
        #expect(list.states.isEmpty)
    }

    @Test("More changes than an observation keeps: the ends that are known stay known")
    func endsAfterGap() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        let id = try await test.broker.enqueue(Message("a"), EnqueueOptions(tag: "m-1")).id
        try await test.broker.enqueue(Message("b"), EnqueueOptions(tag: "m-2"))
        try await until { list.states.count == 2 }
        #expect(await list.cancel(id).value == .removed)
        try await until { list.end(tag: "m-1") == .removed }
        // One commit: the list begins again with a snapshot.
        try await test.broker.enqueue((1...10_001).map { Message("\($0)", in: "chat/2") })
        try await until { list.states.count == 10_002 }
        #expect(list.end(tag: "m-1") == .removed && list.end(tag: "m-2") == nil)
        #expect(list[tag: "m-2"]?.phase == .waiting)
    }

    @Test("Why an action waits or retries is why its queue does not move; in other phases there is no reason")
    func because() async throws {
        let test = try await broker()
        let list = try await loaded(test)
        func first(_ id: ActionID) -> WaitReason? { list[id].flatMap { list.because(of: $0).first } }
        let ids = try await test.broker.enqueue([
            Message("later"), Message("b"), Message("refused", in: "chat/2"), Message("c", in: "chat/2"),
        ])
        try await until { ids.allSatisfy { first($0) == .stopped } }
        try await test.drain()
        let due = test.clock.date.addingTimeInterval(30)
        try await until { list[ids[0]]?.phase == .retrying(at: due) && first(ids[1]) == .retry(until: due) }
        #expect(first(ids[0]) == .retry(until: due))
        let now = test.clock.date
        let parked = WaitReason.parked(by: ids[2], cause: .failed, error: "refused", since: now)
        try await until { list[ids[2]]?.lastError == "refused" && first(ids[3]) == parked }
        #expect(first(ids[2]) == nil)
        try await test.broker.hold("chat/1", by: "ann")
        let held = WaitReason.held(by: "ann", reason: "", until: nil)
        try await until { first(ids[0]) == held && first(ids[1]) == held }
        #expect(list.error == nil)
    }

    @Test("A gate that an outcome has closed is a reason, with its end, for that action and for others")
    func becauseOfGate() async throws {
        let test = try await TestBroker { broker in
            var options = RouteOptions()
            options.gates = ["server"]
            try broker.route("chat/*", Message.self, options) { message, _ in
                message.text == "busy" ? .release(after: .seconds(30), closing: "server") : .success
            }
        }
        let list = try await loaded(test)
        func first(_ id: ActionID) -> WaitReason? { list[id].flatMap { list.because(of: $0).first } }
        try await test.broker.openGate("server")
        let busy = try await test.broker.enqueue(Message("busy")).id
        try await test.drain()
        let end = test.clock.date.addingTimeInterval(30)
        let gate = WaitReason.gate("server", until: end)
        try await until { list[busy]?.phase == .retrying(at: end) && first(busy) == gate }
        let other = try await test.broker.enqueue(Message("b", in: "chat/2")).id
        try await until { list[other]?.phase == .waiting && first(other) == gate }
        #expect(list.error == nil)

        // The date of the one passes while the gate is still closed.
        try await test.broker.closeGate("server", for: .seconds(60))
        try await test.drain(for: .seconds(30))
        let later = try await loaded(test)
        let longer = WaitReason.gate("server", until: end.addingTimeInterval(30))
        try await until { later.states.allSatisfy { later.because(of: $0).first == longer } }
        #expect(later.states.map(\.phase) == [.waiting, .waiting])
    }

    @Test("By a tag, the reasons are of the queue of the newest action, also after its move")
    func becauseByTag() async throws {
        let test = try await broker()
        let list = try await loaded(test, .tag("m-1"))
        try await test.broker.hold("chat/1", by: "ann")
        try await test.broker.hold("chat/2", by: "bob")
        func because() -> [WaitReason] { list[tag: "m-1"].map { list.because(of: $0) } ?? [] }
        func isHeld(by holder: String) -> Bool {
            because().contains(.held(by: holder, reason: "", until: nil))
        }
        let options = EnqueueOptions(tag: "m-1")
        let first = try await test.broker.enqueue(Message("a"), options).id
        try await until { isHeld(by: "ann") }
        try await test.broker.move(first, to: "chat/2")
        try await until { isHeld(by: "bob") && !isHeld(by: "ann") }
        let second = try await test.broker.enqueue(Message("b"), options).id
        try await until { isHeld(by: "ann") }
        #expect(await list.cancel(second).value == .removed)
        try await until { isHeld(by: "bob") }
        #expect(await list.cancel(first).value == .removed)
        try await until { because().isEmpty }
        #expect(list.error == nil)
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
        #expect(await list.edit(ids[0], to: Message("late")).value == .running)
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
