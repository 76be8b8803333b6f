import Foundation
import Sluice
import SluiceObservation
import SluiceTestKit
import TestSupport
import Testing

@Suite("The model of one action", .watched(minutes: 1)) @MainActor struct ActionModelTests {
    private func broker() async throws -> TestBroker {
        try await TestBroker { broker in
            try broker.route("chat/*", Message.self) { message, _ in
                message.text == "refused" ? .fail("refused") : .success
            }
        }
    }

    @Test("G15: an action by its number, until its end; another of its queue changes nothing")
    func byNumber() async throws {
        let test = try await broker()
        let ids = try await test.broker.enqueue([Message("refused"), Message("b")])
        let model = ActionModel(test.broker, ids[0], clock: test.clock)
        try await until { model.state?.phase == .waiting }
        try await test.drain()
        try await until { model.state?.phase == .parked(.failed, since: test.clock.date) }
        #expect(await model.edit(to: Message("polite")).value == .done)
        #expect(await model.retry().value == true)
        try await test.drain()
        try await until { model.state?.phase == .ended(.succeeded) }
        #expect(model.state?.id == ids[0] && model.error == nil)
    }

    @Test("An action that has ended before is shown too")
    func endedBefore() async throws {
        let test = try await broker()
        let id = try await test.broker.enqueue(Message("a")).id
        try await test.drain()
        let model = ActionModel(test.broker, id, clock: test.clock)
        try await until { model.state?.phase == .ended(.succeeded) }
        #expect(model.error == nil)
    }

    @Test("Calls do not wait until the model has read its action")
    func atOnce() async throws {
        let test = try await broker()
        let id = try await test.broker.enqueue(Message("a"), EnqueueOptions(tag: "m-1")).id
        #expect(await ActionModel(test.broker, id).edit(to: Message("b")).value == .done)
        #expect(await ActionModel(test.broker, tag: "m-1").cancel().value == .removed)
        #expect(await ActionModel(test.broker, tag: "m-1").cancel().value == .tooLate)
    }

    @Test("The newest action with a tag, from before its enqueue to its cancellation")
    func byTag() async throws {
        let test = try await broker()
        let model = ActionModel(test.broker, tag: "m-1", clock: test.clock)
        let options = EnqueueOptions(tag: "m-1")
        let ids = try await test.broker.enqueue([Message("a"), Message("b")], options)
        try await until { model.state?.id == ids[1] }
        #expect(await model.cancel().value == .removed)
        try await until { model.state?.id == ids[0] }
        #expect(await model.cancel().value == .removed)
        try await until { model.state?.phase == .ended(.removed) }
        #expect(model.state?.id == ids[0])
    }

    @Test("Why an action waits is known from its enqueue to its end")
    func because() async throws {
        let test = try await broker()
        let hold = try await test.broker.hold("chat/1", by: "ann")
        let id = try await test.broker.enqueue(Message("a")).id
        let model = ActionModel(test.broker, id, clock: test.clock)
        #expect(model.because.isEmpty)
        let held = WaitReason.held(by: "ann", reason: "", until: nil)
        try await until { model.because.contains(held) }
        try await test.broker.endHold(hold)
        try await test.drain()
        try await until { model.state?.phase == .ended(.succeeded) }
        #expect(model.because.isEmpty && model.error == nil)
    }

    @Test("A running action is not edited: its attempt and the next have the text that it has")
    func editWhileRunning() async throws {
        let handled = EventLog<String>()
        let test = try await TestBroker { broker in
            let options = RouteOptions(retry: .fixed(.seconds(30)))
            try broker.route("chat/*", Message.self, options) { message, attempt in
                handled.append(message.text)
                return attempt.number == 1 ? .retry : .success
            }
        }
        test.holdAttempts()
        let id = try await test.broker.enqueue(Message("old")).id
        let model = ActionModel(test.broker, id, clock: test.clock)
        try await test.drain()
        #expect(await model.edit(to: Message("new")).value == .running)
        try await test.step()
        test.letAttemptsGo()
        try await test.drain(for: .seconds(30))
        #expect(handled.elements == ["old", "old"])
    }
}
