import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("A crash in a test", .watched) struct KitCrashTests {
    @Test("G5: an action whose outcome was not written runs again, with the same idempotency key")
    func afterHandler() async throws {
        let (keys, numbers) = (EventLog<String>(), EventLog<Int>())
        let test = try await TestBroker(.file) { broker in
            try broker.route("*", Note.self) { _, attempt in
                keys.append(attempt.idempotencyKey)
                numbers.append(attempt.number)
                return .success
            }
        }
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.broker.enqueue(Note("b"))
        let old = test.broker
        try await test.crash(afterHandlerOf: id)
        #expect(test.broker !== old)
        #expect(await refusal { try await old.enqueue(Note("late")) } == .closed)
        try await #expect(test.settled(id) == .succeeded)
        #expect(keys.elements[0] == keys.elements[1])
        #expect(numbers.elements == [1, 1, 1])
        #expect(keys.elements.count == 3)
        try await #expect(test.broker.actionCount() == 0)
        #expect(test.violations.isEmpty, "\(test.violations)")
        try await test.close()
    }

    @Test("Held attempts are given back, memory is lost, and the file is not")
    func memory() async throws {
        let test = try await TestBroker(.file) { try $0.route("*", to: ScriptedHandler<Note>()) }
        test.holdAttempts(heedingCancellation: false)
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.broker.closeGate("forgotten", isPersistent: false)
        try await test.broker.closeGate("kept", isPersistent: true)
        try await test.drain()
        try await test.crash()
        try await #expect(test.broker.gates().map(\.name) == ["kept"])
        try await test.drain()
        #expect(test.heldAttempts.map(\.id) == [id])
        #expect(test.heldAttempts.map(\.number) == [1])
        test.letAttemptsGo()
        try await #expect(test.settled(id) == .succeeded)
        #expect(test.violations.isEmpty, "\(test.violations)")
        try await test.close()
    }

    @Test("G6: a handler that outlives the crash settles nothing")
    func outliving() async throws {
        let (begun, mayEnd) = (EventLog<Int>(), Signal())
        defer { mayEnd.send() }
        let test = try await TestBroker(.file) { broker in
            try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in
                begun.append(begun.elements.count)
                if begun.elements.count > 1 { return .success }
                await mayEnd.receivedInAnyCase()
                return .fail("from before the crash")
            }
        }
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.start()
        _ = try await begun.wait(forCount: 1)
        try await test.crash()
        try await #expect(test.settled(id) == .succeeded)
        mayEnd.send()
        try await test.drain()
        try await #expect(test.broker.deadLetters().isEmpty)
        #expect(test.violations.isEmpty, "\(test.violations)")
        try await test.close()
    }

    @Test("A crash after a handler that cannot start throws, and crashes nothing")
    func cannotStart() async throws {
        let test = try await TestBroker(.file)
        let id = try await test.broker.enqueue(Note("a")).id
        let old = test.broker
        let error = await #expect(throws: TestBroker.Stuck.self) {
            try await test.crash(afterHandlerOf: id)
        }
        #expect(error?.because.first == .noRoute)
        #expect(test.broker === old)
        try test.broker.route("*", to: ScriptedHandler<Note>())
        try await #expect(test.settled(id) == .succeeded)
        try await test.close()
    }

    @Test("A crash after the handler of a dead letter says that it does not run again")
    func deadLetter() async throws {
        let test = try await TestBroker(.file) { broker in
            try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        }
        let id = try await test.broker.enqueue(Note("a")).id
        try await #expect(test.settled(id) == .deadLettered(.failed))
        let error = await #expect(throws: TestBroker.Stuck.self) {
            try await test.crash(afterHandlerOf: id)
        }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("action \(id) of notes: dead"), "\(text)")
        #expect(text.hasSuffix(": its handler does not run again"), "\(text)")
        try await test.close()
    }

    @Test("A broker that has not run crashes too, several times, with all that it has stored")
    func beforeRun() async throws {
        let test = try await TestBroker(.file)
        for number in 0..<3 {
            try await test.broker.enqueue(Note("\(number)"))
            try await test.crash()
        }
        try await #expect(test.broker.actionCount() == 3)
        try await test.close()
    }
}
