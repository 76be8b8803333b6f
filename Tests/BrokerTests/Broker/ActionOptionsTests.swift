import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// An action with options of its own.
private struct Tagged: Action {
    static let kind = "tagged"
    var text: String
    var tag: String?
    var queue: QueueName { "tagged" }
    var options: EnqueueOptions { EnqueueOptions(tag: tag, memberOf: ["album"]) }

    init(_ text: String, tag: String? = "own") { (self.text, self.tag) = (text, tag) }
}

@Suite("Options of an action's type", .watched) struct ActionOptionsTests {
    private static func options(_ name: String, at second: Double) -> EnqueueOptions {
        EnqueueOptions(
            notBefore: Date(timeIntervalSince1970: second),
            expiresAt: Date(timeIntervalSince1970: second + 1),
            tag: name,
            gate: GateName(name),
            key: DeduplicationKey(name, policy: .refuse),
            startsGroups: [GroupName("starts \(name)")],
            memberOf: [GroupName("of \(name)")]
        )
    }

    /// Copies one field.
    private static let fields: [@Sendable (inout EnqueueOptions, EnqueueOptions) -> Void] = [
        { $0.notBefore = $1.notBefore }, { $0.expiresAt = $1.expiresAt }, { $0.tag = $1.tag },
        { $0.gate = $1.gate }, { $0.key = $1.key }, { $0.startsGroups = $1.startsGroups },
        { $0.memberOf = $1.memberOf },
    ]

    @Test("Each field of the call counts if it is set, and otherwise the action's")
    func merge() {
        let (own, call) = (Self.options("own", at: 10), Self.options("call", at: 20))
        #expect(EnqueueOptions().completed(by: own) == own)
        #expect(call.completed(by: own) == call)
        for copy in Self.fields {
            var (one, expected) = (EnqueueOptions(), own)
            #expect(one.isEmpty)
            copy(&one, call)
            copy(&expected, call)
            #expect(!one.isEmpty)
            #expect(one.completed(by: own) == expected)
            #expect(one.completed(by: EnqueueOptions()) == one)
        }
    }

    @Test("Every form of an enqueue reads them, and none stores them in the payload")
    func forms() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try broker.route("settling", Note.self) { _, _ in
            .success { transaction in
                try transaction.enqueue(Tagged("settling"))
                try transaction.enqueue([Tagged("settling")])
            }
        }
        try await broker.enqueue(Note("a", in: "settling"))
        try await running(broker) { await broker.waitUntilIdle() }
        try await broker.enqueue(Tagged("one"))
        try await broker.enqueue([Tagged("many")])
        try await broker.enqueue((0..<64).map { _ in Tagged("many") }, EnqueueOptions(gate: "g"))
        try await broker.enqueue([Tagged("many")], options: { _ in EnqueueOptions() })
        try await broker.enqueue(contentsOf: [Tagged("several")])
        try broker.enqueueBlocking(Tagged("blocking"))
        broker.submit(Tagged("submitted"))
        try await broker.file?.flush()
        try await broker.queue("tagged", of: Tagged.self).add(Tagged("handle"))
        try application.transaction { connection in
            try broker.enqueue(Tagged("own transaction"), in: connection)
            try broker.enqueue([Tagged("own transaction")], in: connection)
        }
        let count = try application.row("SELECT count(*) FROM sluice_actions WHERE tag = 'own'")
        #expect(count == "75")
        #expect(try application.row("SELECT count(*) FROM sluice_actions") == "75")
        #expect(try application.row("SELECT count(*) FROM sluice_actions WHERE gate = 'g'") == "64")
        let payload = try application.row("SELECT payload FROM sluice_actions WHERE payload LIKE '%one%'")
        #expect(payload == #"{"text":"one","tag":"own"}"# || payload == #"{"tag":"own","text":"one"}"#)
        await broker.close()
    }

    @Test("The call's options win, and its date wins over both")
    func overrides() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let id = try await broker.enqueue(Tagged("a"), EnqueueOptions(tag: "call")).id
        let date = (site.clock.now + .seconds(60)).date
        let late = try await broker.enqueue(Tagged("b"), notBefore: date).id
        try await #expect(broker.action(id).details?.tag == "call")
        try await #expect(broker.action(late).phase == .scheduled(for: date))
        try await #expect(broker.action(late).details?.tag == "own")
        await broker.close()
    }

    @Test("They are checked as those of a call, and nothing is stored")
    func checks() async throws {
        let broker = try await Site(.memory).broker()
        let bad = Tagged("a", tag: "")
        #expect(await refusal { try await broker.enqueue(bad) } == .invalidOptions)
        #expect(await refusal { try await broker.enqueue([Tagged("b"), bad]) } == .invalidOptions)
        #expect(await refusal { try broker.enqueueBlocking(bad) } == .invalidOptions)
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }
}
