import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

private struct Greeting: Action {
    static let kind = "greeting"
    static let version = 2
    var words: [String]
    var queue: QueueName { "greetings" }
}

/// Reverses each byte, so that the text in the file is not the payload.
private struct Reversing: PayloadSealing {
    func seal(_ payload: Data, as context: SealingContext) -> SealedPayload {
        SealedPayload(key: "reversing", bytes: Data(payload.map { ~$0 }))
    }

    func open(_ sealed: SealedPayload, as context: SealingContext) -> Data { Data(sealed.bytes.map { ~$0 }) }
}

@Suite("The state of one action in rare cases", .watched(minutes: 1)) struct ActionStateCasesTests {
    @Test("A claim of a process that is dead does not count as running")
    func deadProcess() async throws {
        let site = try Site()
        let a = try await site.broker { $0.standFor(process: 1) }
        let b = try await site.broker { $0.standFor(process: 2) }
        let (started, goOn) = (EventLog<String>(), Signal())
        try a.route("*", Note.self) { note, _ in
            started.append(note.text)
            await goOn.receivedInAnyCase()
            return .success
        }
        let id = try await a.enqueue(Note("1")).id
        try await running(a) {
            defer { goOn.send() }
            _ = try await started.wait(forCount: 1)
            try await #expect(b.action(id).phase == .running(since: site.clock.date))
            try site.shell(
                "UPDATE sluice_runner_rows SET process = 'another start-of-the machine' WHERE pid = 1"
            )
            try await #expect(b.action(id).phase == .waiting)
            try await #expect(b.action(id).ahead == 0)
        }
        await a.close()
        await b.close()
    }

    @Test("A cancelled action that runs is running until its handler has returned, and then removed")
    func cancelled() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        let (started, goOn) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            await goOn.receivedInAnyCase()
            return .retry
        }
        let id = try await broker.enqueue(Note("1")).id
        try await running(broker) {
            defer { goOn.send() }
            try await started.received()
            try await #expect(broker.cancel(id) == .signalled)
            try await #expect(broker.action(id).phase == .running(since: test.clock.date))
            goOn.send()
            await broker.waitUntilIdle()
            try await #expect(broker.action(id).phase == .ended(.removed))
        }
        await broker.close()
    }

    @Test("An action that expired before it could start is dead with that cause")
    func expired() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        try broker.route("*", Note.self) { _, _ in .success }
        let end = test.clock.date.addingTimeInterval(60)
        try await broker.hold("*", by: "test", reason: "")
        let id = try await broker.enqueue(Note("1"), EnqueueOptions(expiresAt: end)).id
        test.clock.advance(by: .seconds(61))
        try await test.drain()
        try await #expect(broker.action(id).phase == .dead(.expired, at: test.clock.date))
        await broker.close()
    }

    @Test("A payload is opened and upgraded as for a handler, and one of another type is a typed error")
    func payloads() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.payloadSealing = Reversing() }
        try broker.upgrade(kind: "greeting", from: 1) { text in
            text.replacingOccurrences(of: #""hello""#, with: #"["hello"]"#)
        }
        let payload = #"{"words":"hello"}"#
        let id = try await broker.enqueue(
            raw: [RawAction(queue: "greetings", kind: "greeting", version: 1, payload: payload)]
        )[0]
        let state = try await broker.action(id)
        #expect(state.details?.isSealed == true)
        #expect(state.details?.payload.contains("hello") == false)
        #expect(try state.payload(as: Greeting.self)?.words == ["hello"])
        let refusal = #expect(throws: SluiceError.self) { try state.payload(as: Note.self) }
        #expect(refusal?.code == .undecodable)
        #expect(refusal.map { "\($0)".contains("hello") } == false)
        await broker.close()
    }
}
