import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

/// An action whose encoding fails with an error that carries its content.
private struct Unencodable: Action {
    static let kind = "unencodable"
    var text: String
    var queue: QueueName { "notes" }

    func encode(to encoder: any Encoder) throws { throw TestError("cannot encode \(text)") }
}

/// A note with a dictionary, whose keys are content too, and a decoder that throws what it read.
private struct Detailed: Action {
    static let kind = "detailed"
    var words: [String: Int]
    var queue: QueueName { "detailed" }
}

@Suite("Privacy and honest errors", .watched) struct PrivacyTests {
    private static let canary = "CANARY7351"

    @Test(
        "G13: no payload shows in any log line, error, reason, status or event, whatever goes wrong",
        arguments: QueueStorage.allCases
    )
    func canary(_ place: QueueStorage) async throws {
        let lines = EventLog<String>()
        let site = try Site(place)
        let broker = try await site.broker {
            $0.logger = .keeping(lines)
            $0.maximumPayloadByteCount = 300
        }
        var texts: [String] = []
        try await provokeErrors(broker, &texts)
        let events = broker.events()
        let keeper = Keeper()
        try broker.route(
            "*",
            to: NoteHandler { note, attempt, completion in
                // Called twice, dropped, failed, retried: each of them logs or is counted.
                if note.text.hasSuffix("drop") && attempt.number == 1 { return }
                completion(attempt.number == 1 ? .retry(after: .zero) : .success)
                completion(.success)
                keeper.keep(completion)
            },
            retrying(.fixed(.zero))
        )
        try broker.route("*", Detailed.self) { _, _ in .success }
        try await broker.enqueue([Note("\(Self.canary)"), Note("\(Self.canary) drop")])
        try await broker.enqueue(raw: [
            RawAction(queue: "bad/1", kind: "note", payload: #"{"text":{"\#(Self.canary)":1}}"#),
            RawAction(queue: "bad/2", kind: "note", payload: #"["\#(Self.canary)"]"#),
            RawAction(
                queue: "bad/3",
                kind: "detailed",
                payload: #"{"words":{"\#(Self.canary)":"\#(Self.canary)"}}"#
            ),
            RawAction(queue: "bad/4", kind: "unknown", payload: #""\#(Self.canary)""#),
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        for status in try await broker.statuses() { texts.append("\(status) \(String(reflecting: status))") }
        for summary in try await broker.actionSummaries() { texts.append(summary.lastError ?? "") }
        let reasons = try await broker.statuses(matching: "bad/*").compactMap(\.lastError)
        #expect(reasons.count == 3)
        await broker.close()
        texts += lines.elements
        var eventCount = 0
        for await event in events {
            texts.append(String(reflecting: event))
            eventCount += 1
        }
        #expect(eventCount > 10)
        #expect(lines.elements.contains { $0.contains("completion called again") })
        #expect(lines.elements.contains { $0.contains("completion dropped") })
        for text in texts { #expect(!text.contains(Self.canary)) }
    }

    /// Makes enqueuing fail in every way that has to do with the payload.
    private func provokeErrors(_ broker: Broker, _ texts: inout [String]) async throws {
        let text = Self.canary
        let attempts: [(SluiceError.Code, () async throws -> Void)] = [
            (.payloadNotEncodable, { try await broker.enqueue(Unencodable(text: text)) }),
            (.payloadTooLarge, { try await broker.enqueue(Note(String(repeating: text, count: 50))) }),
            (
                .payloadNotJSON,
                {
                    try await broker.enqueue(raw: [RawAction(queue: "q", kind: "note", payload: "{\(text)")])
                }
            ),
            (.sortKeyNotANumber, { try await broker.enqueue(Note(text, order: .real(.nan))) }),
            (.invalidQueueName, { try await broker.enqueue(Note(text, in: "")) }),
        ]
        for (code, attempt) in attempts {
            do {
                try await attempt()
                Issue.record("no error where \(code) was expected")
            } catch {
                #expect((error as? SluiceError)?.code == code)
                texts.append("\(error) \(String(reflecting: error))")
            }
        }
    }

    @Test("G14: each refusal is one of the documented codes, says what to do, and stores nothing")
    func refusals() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        var texts: [String] = []
        try await provokeErrorsWithDefaults(broker, &texts)
        #expect(texts.allSatisfy { $0.count > 20 })
        #expect(texts.allSatisfy { !$0.contains("SQLite") })
        try await #expect(broker.actionCount() == 0)
    }

    private func provokeErrorsWithDefaults(_ broker: Broker, _ texts: inout [String]) async throws {
        let large = Note(String(repeating: "x", count: 17 * 1_024 * 1_024))
        let refused: [(SluiceError.Code, Note)] = [
            (.payloadTooLarge, large), (.sortKeyNotANumber, Note("a", order: .real(.nan))),
            (.invalidQueueName, Note("a", in: "\u{0}")),
        ]
        for (code, note) in refused {
            let asynchronous = await #expect(throws: SluiceError.self) { try await broker.enqueue(note) }
            let blocking = #expect(throws: SluiceError.self) { try broker.enqueueBlocking(note) }
            #expect(asynchronous?.code == code)
            #expect(blocking?.code == code)
            texts += [asynchronous, blocking].compactMap { $0?.description }
        }
    }
}
