import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Waiting for an end that cannot come", .watched) struct StuckTests {
    /// Expects that an action is stuck for a reason, with an advice.
    private func expectStuck(_ test: TestBroker, _ id: ActionID, _ reason: String, _ advice: String) async {
        let error = await #expect(throws: TestBroker.Stuck.self) { try await test.settled(id) }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("action \(id) has not ended: notes: \(reason)"), "\(text)")
        #expect(text.hasSuffix("; \(advice)"), "\(text)")
        #expect(error?.action.id == id)
    }

    @Test("G15: what an action waits for is in the error, with what the test can do")
    func reasons() async throws {
        let test = try await TestBroker()
        let id = try await test.broker.enqueue(Note("a")).id
        await expectStuck(test, id, "no route", "add a route or an upgrader")

        let handler = ScriptedHandler<Note>(.throws(TestError("no")), .returns(.fail("no")))
        try test.broker.route("*", to: handler, retrying(.fixed(.seconds(30))))
        let time = "2026-01-01T00:00:30.000000Z"
        await expectStuck(test, id, "waiting for retry until \(time)", "advance the clock")

        let hold = try await test.broker.hold("notes", by: "a person")
        test.clock.advance(by: .seconds(30))
        await expectStuck(test, id, "held by a person", "end the hold")

        test.holdAttempts()
        try await test.broker.endHold(hold)
        let running = "running since \(time), attempt 2"
        await expectStuck(test, id, running, "an attempt is held: call step() or letAttemptsGo()")

        test.letAttemptsGo()
        let parked = "parked by action \(id) after failure (failed): no"
        await expectStuck(test, id, parked, "call retryNow(_:) or skipHead(of:)")
        try await test.broker.retryNow()
        try await #expect(test.settled(id) == .succeeded)
        try await test.close()
    }

    @Test("A gate and a schedule are named, and a dead letter has ended")
    func others() async throws {
        let test = try await TestBroker { broker in
            try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, _ in
                note.text == "fails" ? .fail("no") : .success
            }
        }
        let options = EnqueueOptions(notBefore: test.clock.date + 60, gate: "network")
        let id = try await test.broker.enqueue(Note("a"), options).id
        await expectStuck(test, id, "scheduled for 2026-01-01T00:01:00.000000Z", "advance the clock")
        test.clock.advance(by: .seconds(60))
        await expectStuck(test, id, "waiting for gate network", "open the gate")
        try await test.openGate("network")
        try await #expect(test.settled(id) == .succeeded)
        let failed = try await test.broker.enqueue(Note("fails")).id
        try await #expect(test.settled(failed) == .deadLettered(.failed))
        try await test.close()
    }

    @Test("A gate that opens by itself and a rate limit need time")
    func time() async throws {
        let test = try await TestBroker { broker in
            let options = RouteOptions(rate: RateLimit(1, per: .seconds(60), name: "server"))
            try broker.route("*", Note.self, options) { _, _ in .success }
        }
        let first = try await test.broker.enqueue(Note("a"), EnqueueOptions(gate: "server")).id
        try await test.broker.closeGate("server", for: .seconds(30))
        let opening = "waiting for gate server until 2026-01-01T00:00:30.000000Z"
        await expectStuck(test, first, opening, "advance the clock")
        try await test.openGate("server")
        try await #expect(test.settled(first) == .succeeded)
        let second = try await test.broker.enqueue(Note("b")).id
        let next = "waiting for the rate limit server until 2026-01-01T00:01:00.000000Z"
        await expectStuck(test, second, next, "advance the clock")
        test.clock.advance(by: .seconds(60))
        try await #expect(test.settled(second) == .succeeded)
        try await test.close()
    }
}
