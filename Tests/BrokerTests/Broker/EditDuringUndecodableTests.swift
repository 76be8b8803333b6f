import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Holds the first attempt before its payload is decoded.
private struct HoldFirst: Middleware {
    let started = Signal()
    let go = Signal()

    func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        if started.elements.isEmpty {
            started.send()
            try await go.received()
        }
        return try await next()
    }
}

@Suite("An edit while the old payload proves undecodable", .watched)
struct EditDuringUndecodableTests {
    @Test("The next attempt reads the new payload, by any policy", arguments: [FailurePolicy.block, .skip])
    func edited(policy: FailurePolicy) async throws {
        let hold = HoldFirst()
        let broker = try await Site(.memory).broker { $0.middleware = [hold] }
        let log = EventLog<String>()
        var options = RouteOptions()
        options.failure.undecodable = policy
        try broker.route("q", Note.self, options) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return .success
        }
        let old = RawAction(queue: "q", kind: Note.kind, payload: #"{"text": 7}"#)
        let id = try #require(try await broker.enqueue(raw: [old]).first)
        try await running(broker) {
            try await hold.started.received()
            try await #expect(broker.edit(id, payload: #"{"text":"mended"}"#) == .deferred)
            hold.go.send()
            _ = try await log.wait(forCount: 1)
        }
        #expect(log.elements == ["mended 1"])
        await broker.close()
    }
}
