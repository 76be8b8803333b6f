import Foundation
import SluiceJSON
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Turns bits over, so that what it gives is not what it got; and counts.
private final class Turning: PayloadSealing {
    let key: String
    let failure: (any Error & Sendable)?
    let contexts = EventLog<SealingContext>()

    init(key: String = "turn", failing failure: (any Error & Sendable)? = nil) {
        self.key = key
        self.failure = failure
    }

    func seal(_ payload: Data, as context: SealingContext) throws -> SealedPayload {
        if let failure { throw failure }
        contexts.append(context)
        return SealedPayload(key: key, bytes: Data(payload.map { ~$0 }))
    }

    func open(_ sealed: SealedPayload, as context: SealingContext) throws -> Data {
        if let failure { throw failure }
        contexts.append(context)
        return Data(sealed.bytes.map { ~$0 })
    }
}

@Suite("Sealed payloads", .watched) struct SealingTests {
    @Test("The JSON text of a sealed payload reads back as it was, whatever its bytes")
    func text() throws {
        for count in [0, 1, 2, 3, 57, 1_000] {
            let sealed = SealedPayload(key: "a/B.c:1@x_y-z", bytes: Data((0..<count).map { UInt8($0 % 256) }))
            #expect(SealedPayload(sealed.text) == sealed)
            #expect(SealedPayload.isSealed(sealed.text))
            #expect(JSONGrammar.accepts(sealed.text))
        }
    }

    @Test(
        "What is not written so is no sealed payload",
        arguments: [
            "", "{}", #"{"sluice_sealed":"#, #"{"sluice_sealed":"""#, #"{"sluice_sealed":""}"#,
            #"{"sluice_sealed":"AA==","key":""}"#, #"{"sluice_sealed":"AA==","key":"a b"}"#,
            #"{"sluice_sealed":"A","key":"a"}"#, #"{"sluice_sealed":"AA==","key":"a","more":"b"}"#,
            #"{"sluice_sealed": "AA==","key":"a"}"#, #"{"key":"a","sluice_sealed":"AA=="}"#,
            #"{"sluice_sealed":"AA==","key":"a"} "#, #"{"sluice_sealed":"\u0041A==","key":"a"}"#,
            #"{"sluice_sealed":"é","key":"é"}"#, #"{"sluice_sealed":"","key":"a""#, "\"}",
        ]
    )
    func noSealed(_ text: String) {
        #expect(SealedPayload(text) == nil)
    }

    @Test("The context is the kind and the version, at the sealing and at the opening")
    func context() async throws {
        let sealing = Turning()
        let site = try Site(.memory)
        let broker = try await site.broker { $0.payloadSealing = sealing }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a"))
        try await broker.enqueue(raw: [
            RawAction(queue: "raw", kind: "other", version: 7, payload: "[]")
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a"])
        #expect(
            sealing.contexts.elements == [
                SealingContext(kind: "note", version: 1), SealingContext(kind: "other", version: 7),
                SealingContext(kind: "note", version: 1),
            ]
        )
        await broker.close()
    }

    @Test(
        "G13, G14: a payload that cannot be sealed is not stored, and the error says so without its words",
        arguments: [
            (Turning(failing: TestError("CANARY")), "the sealing threw TestError"),
            (Turning(failing: SealingFailure.missingKey), "there is no key to seal with"),
            (Turning(key: "a b"), "the name of its key is not"), (Turning(key: ""), "the name of its key is"),
        ]
    )
    fileprivate func notSealed(_ sealing: Turning, _ words: String) async throws {
        let site = try Site()
        let broker = try await site.broker { $0.payloadSealing = sealing }
        for attempt in [
            { try await broker.enqueue(Note("a")) },
            { try broker.enqueueBlocking(Note("a")) },
        ] as [() async throws -> EnqueueReceipt] {
            let error = await #expect(throws: SluiceError.self) { try await attempt() }
            #expect(error?.code == .payloadNotSealed)
            #expect(error?.message.contains(words) == true)
            #expect(error?.message.contains("CANARY") == false)
        }
        try await #expect(broker.actionCount() == 0)
        // An edit that fails leaves what was there, also where the sealing is asked inside the transaction.
        try site.shell("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '[1]')")
        let error = await #expect(throws: SluiceError.self) {
            try await broker.edit(ActionID(rawValue: 1), payload: "[2]")
        }
        #expect(error?.code == .payloadNotSealed)
        try await #expect(broker.actionSummaries().map(\.payload) == ["[1]"])
        await broker.close()
    }

    @Test("G10: an envelope that is broken or holds no text stays, with the reason; nothing is guessed")
    func broken() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.payloadSealing = Turning() }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try broker.routeAnyKind("any/*") { payload, _ in
            log.append(payload)
            return .success
        }
        let noText = SealedPayload(key: "k", bytes: Data([0x00, 0x01])).text
        try await broker.enqueue(raw: [
            RawAction(queue: "a", kind: "note", payload: #"{"sluice_sealed":"A","key":"k"}"#),
            RawAction(queue: "b", kind: "note", payload: noText),
            RawAction(queue: "any/c", kind: "x", payload: noText),
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        let reasons = try await broker.statuses().map { $0.lastError ?? "" }
        #expect(reasons.count == 3)
        #expect(reasons.filter { $0.contains("is not UTF-8") }.count == 2)
        #expect(reasons.filter { $0.contains("is not written as a sealed one") }.count == 1)
        #expect(log.elements == [])
        await broker.close()
    }

    @Test("The limit of bytes is that of the plain payload")
    func limit() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker {
            $0.payloadSealing = Turning()
            $0.maximumPayloadByteCount = 100
        }
        try await broker.enqueue(Note(String(repeating: "x", count: 80)))
        let error = await #expect(throws: SluiceError.self) {
            try await broker.enqueue(Note(String(repeating: "x", count: 101)))
        }
        #expect(error?.code == .payloadTooLarge)
        await broker.close()
    }

    @Test("Without a sealing a route of any kind is handed what is stored")
    func passedOn() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeAnyKind("*") { payload, _ in
            log.append(payload)
            return .success
        }
        let text = SealedPayload(key: "k", bytes: Data([1])).text
        try await broker.enqueue(raw: [RawAction(queue: "a", kind: "x", payload: text)])
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        #expect(log.elements == [text])
        await broker.close()
    }
}
