#if Crypto
import Crypto
import Foundation
import Logging
import SluiceSQLite
import Sluice
import SluiceCrypto
import SluiceTestKit
import TestSupport
import Testing

private struct Note: Action {
    static let kind = "note"
    var text: String
    var queue: QueueName { "notes" }
}

/// The same kind in its second version.
private struct LongNote: Action {
    static let kind = "note"
    static let version = 2
    var title: String
    var queue: QueueName { "notes" }
}

/// A log handler that keeps every line with its metadata.
private struct KeepingLogHandler: LogHandler {
    let lines: EventLog<String>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.append("\(event.message) \(event.metadata ?? [:]) \(metadata)") }
}

@Suite("Queues of sealed payloads", .watched) struct SealedQueueTests {
    private static let canary = "CANARY4711"
    private let file: TemporaryFile
    private let texts = EventLog<String>()

    init() throws { file = try TemporaryFile() }

    private func options(_ ring: KeyRing?) -> BrokerOptions {
        var options = BrokerOptions()
        // The views ask the machine's clock, and nothing here waits for a time.
        options.clock = ManualClock(wallMicroseconds: 4_102_444_800_000_000)
        options.file.foreignChangeInterval = .seconds(365 * 86_400)
        options.payloadSealing = ring
        return options
    }

    private func broker(_ ring: KeyRing?) async throws -> Broker {
        try await Broker(file: file.path, options: options(ring))
    }

    private func ring(_ name: String = "k1") throws -> KeyRing {
        try KeyRing(sealingWith: name, SymmetricKey(size: .bits256))
    }

    private func route(_ broker: Broker) throws {
        try broker.route("*", Note.self) { [texts] note, _ in
            texts.append(note.text)
            return .success
        }
    }

    private func running(_ broker: Broker, _ body: () async throws -> Void) async throws {
        let run = Task { try await broker.run() }
        do { try await body() } catch {
            await broker.stop(grace: .zero)
            _ = await run.result
            throw error
        }
        await broker.stop(grace: .zero)
        try await run.value
    }

    /// Returns when a condition holds; the suite's time limit ends it.
    private func until(_ condition: () async throws -> Bool) async throws {
        while try await !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// What the file's column says, by a connection of its own.
    private func rows(_ sql: String) throws -> [String] {
        try Connection(path: file.path, mode: .read).prepare(sql).all { $0.optionalText(0) ?? "NULL" }
    }

    @Test("A payload is sealed in the file, valid JSON there, and plain for its handler")
    func sealed() async throws {
        let broker = try await broker(ring())
        try route(broker)
        try await broker.enqueue(Note(text: Self.canary))
        let stored = try rows("SELECT payload FROM sluice_actions")
        #expect(stored.count == 1)
        #expect(!stored[0].contains(Self.canary))
        #expect(
            try rows("SELECT json_valid(payload) || (payload ->> '$.key') FROM sluice_actions") == ["1k1"]
        )
        try await running(broker) { _ = try await texts.wait(forCount: 1) }
        #expect(texts.elements == [Self.canary])
        await broker.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
        #expect(bytes.range(of: Data(Self.canary.utf8)) == nil)
    }

    @Test("Every way into the file seals: raw, blocking, in a transaction of one's own, edited, in settling")
    func everyWayIn() async throws {
        let broker = try await broker(ring())
        try await broker.enqueue(raw: [
            RawAction(queue: "notes", kind: "note", payload: #"{"text":"CANARY4711 a"}"#)
        ])
        try broker.enqueueBlocking(Note(text: "\(Self.canary) b"))
        let own = try Connection(path: file.path, mode: .write)
        _ = try own.immediate { try broker.enqueue(Note(text: "\(Self.canary) c"), in: own.rawHandle) }
        own.close()
        let edited = try await broker.enqueue(Note(text: "\(Self.canary) wrong")).id
        try await broker.edit(edited, to: Note(text: "\(Self.canary) d"))
        let editedAsText = try await broker.enqueue(Note(text: "\(Self.canary) wrong")).id
        try await broker.edit(editedAsText, payload: #"{"text":"CANARY4711 e"}"#)
        try await #expect(broker.edit(ActionID(rawValue: 9_999), payload: "1") == .missing)
        try broker.route("*", Note.self) { [texts] note, _ in
            texts.append(note.text)
            guard note.text.hasSuffix("e") else { return .success }
            return .success { try $0.enqueue(Note(text: "\(Self.canary) f")) }
        }
        #expect(try rows("SELECT payload FROM sluice_actions").allSatisfy { !$0.contains("CANARY") })
        #expect(try rows("SELECT count(*) FROM sluice_actions WHERE payload LIKE '%sealed%'") == ["5"])
        try await running(broker) { _ = try await texts.wait(forCount: 6) }
        #expect(texts.elements == ["a", "b", "c", "d", "e", "f"].map { "\(Self.canary) \($0)" })
        await broker.close()
    }

    @Test("Handles, retry policies, upgraders and routes of any kind get it opened")
    func everyWayOut() async throws {
        let broker = try await broker(ring())
        try await broker.enqueue(Note(text: "one"))
        try await broker.enqueue(Note(text: "two"))
        try await #expect(broker.queue("notes", of: Note.self).peek()?.action.text == "one")
        try await #expect(broker.queue("notes", of: Note.self).removeNext()?.action.text == "one")
        let summary = try #require(try await broker.actionSummaries().first)
        #expect(!summary.payload.contains("two"))
        #expect(try broker.openPayload(summary.payload, kind: "note") == #"{"text":"two"}"#)
        #expect(throws: SluiceError.self) { try broker.openPayload(summary.payload, kind: "other") }
        try broker.upgrade(LongNote.self, from: 1, reading: Note.self) { LongNote(title: $0.text) }
        let policy = RetryPolicy.exponential().deciding(for: LongNote.self) { [texts] note, _ in
            texts.append("policy \(note.title)")
            return .retry(after: .zero)
        }
        try broker.route("notes", LongNote.self, RouteOptions(retry: policy)) { [texts] note, attempt in
            texts.append(note.title)
            return attempt.number == 1 ? .retry : .success
        }
        try broker.routeAnyKind("any") { [texts] payload, _ in
            texts.append(payload)
            return .success
        }
        try await broker.enqueue(raw: [RawAction(queue: "any", kind: "x", payload: #"["CANARY4711"]"#)])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(
            Set(texts.elements) == ["two", "policy two", #"["CANARY4711"]"#],
            "\(texts.elements)"
        )
        await broker.close()
    }

    @Test("G10, G15: without its key an action stays, says which key, and runs when the key has come")
    func missingKey() async throws {
        let key = SymmetricKey(size: .bits256)
        let first = try await broker(KeyRing(sealingWith: "old", key))
        try await first.enqueue(Note(text: "kept"))
        await first.close()

        let ring = try ring("new")
        let second = try await broker(ring)
        try route(second)
        try await second.enqueue(Note(text: "behind"))
        try await running(second) {
            await second.waitUntilIdle()
            let status = try await second.status(of: "notes")
            #expect(status.state == .undecodable)
            #expect(status.lastError == "the payload is sealed with the key 'old', which is not there")
            #expect(texts.elements == [])
            // A key of that name, and not that key.
            try ring.add("old", SymmetricKey(size: .bits256))
            second.payloadSealingChanged()
            try await until {
                try await second.status(of: "notes").lastError?.hasPrefix("the payload does not open") == true
            }
            try ring.add("old", key)
            second.payloadSealingChanged()
            _ = try await texts.wait(forCount: 2)
        }
        #expect(texts.elements == ["kept", "behind"])
        await second.close()
    }

    @Test("G10: a start with the key runs what was parked without a sealing at all")
    func noSealing() async throws {
        let ring = try ring()
        let first = try await broker(ring)
        try await first.enqueue(Note(text: "kept"))
        await first.close()
        let second = try await broker(nil)
        try route(second)
        try await running(second) {
            await second.waitUntilIdle()
            try await #expect(
                second.status(of: "notes").lastError
                    == "the payload is sealed with the key 'k1', and the broker has no payloadSealing"
            )
        }
        await second.close()
        let third = try await broker(ring)
        try route(third)
        try await running(third) { _ = try await texts.wait(forCount: 1) }
        #expect(texts.elements == ["kept"])
        await third.close()
    }

    @Test("A move to another queue and a new place leave it readable; as another kind it does not open")
    func moves() async throws {
        let broker = try await broker(ring())
        try route(broker)
        let moved = try await broker.enqueue(Note(text: "moved")).id
        try await broker.move(moved, to: "elsewhere")
        try await broker.moveToFront(moved)
        let stolen = try await broker.enqueue(raw: [RawAction(queue: "stolen", kind: "gift", payload: "1")])[
            0
        ]
        // Who can write the file puts one action's payload onto another's.
        let shell = try Connection(path: file.path, mode: .write)
        try shell.execute(
            """
            UPDATE sluice_actions SET kind = 'note' WHERE id = \(stolen);
            INSERT INTO sluice_actions (queue, kind, payload)
            SELECT 'copied', 'gift', payload FROM sluice_actions WHERE id = \(moved);
            """
        )
        shell.close()
        try broker.routeAnyKind("copied") { [texts] payload, _ in
            texts.append(payload)
            return .success
        }
        try await running(broker) {
            _ = try await texts.wait(forCount: 1)
            for queue: QueueName in ["stolen", "copied"] {
                try await until { try await broker.status(of: queue).state == .undecodable }
                let error = try await broker.status(of: queue).lastError
                #expect(error?.contains("for another kind or version") == true)
            }
        }
        #expect(texts.elements == ["moved"])
        await broker.close()
    }

    @Test("What is not sealed is read unless that is forbidden; then it stays, with the reason")
    func unsealed() async throws {
        let ring = try ring()
        for accepts in [true, false] {
            let queue = QueueName("plain/\(accepts)")
            var options = options(ring)
            options.acceptsUnsealedPayloads = accepts
            let broker = try await Broker(file: file.path, options: options)
            let shell = try Connection(path: file.path, mode: .write)
            try shell.execute(
                """
                INSERT INTO sluice_actions (queue, kind, payload)
                VALUES ('\(queue)', 'note', '{"text":"from the shell"}')
                """
            )
            shell.close()
            try route(broker)
            try await running(broker) {
                await broker.waitUntilIdle()
                let status = try await broker.status(of: queue)
                #expect(status.state == (accepts ? .empty : .undecodable))
                if !accepts {
                    #expect(
                        status.lastError == "the payload is not sealed, and the broker accepts no other"
                    )
                }
            }
            await broker.close()
        }
        #expect(texts.elements == ["from the shell"])
    }

    @Test("A dead letter stays sealed, and runs as it was when it is put back")
    func deadLetter() async throws {
        let broker = try await broker(ring())
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { [texts] note, _ in
            texts.append(note.text)
            return texts.elements.count == 1 ? .fail("no") : .success
        }
        let id = try await broker.enqueue(Note(text: Self.canary)).id
        try await running(broker) {
            try await until { try await broker.deadLetter(id) != nil }
            let letter = try #require(try await broker.deadLetter(id))
            #expect(!letter.payload.contains(Self.canary))
            #expect(
                try broker.openPayload(letter.payload, kind: letter.kind, version: letter.version)
                    .contains(Self.canary)
            )
            try await broker.requeue(id)
            _ = try await texts.wait(forCount: 2)
        }
        #expect(texts.elements == [Self.canary, Self.canary])
        await broker.close()
    }

    @Test("G13: neither a payload nor a key shows in a log line, an error or a reason")
    func privacy() async throws {
        let lines = EventLog<String>()
        let secret = Data((0..<32).map { UInt8(ascii: "A") + $0 % 20 })
        let ring = try KeyRing(sealingWith: "k1", SymmetricKey(data: secret)) { _ in throw Leaky() }
        var options = options(ring)
        options.logger = Logger(label: "test", factory: { _ in KeepingLogHandler(lines: lines) })
        options.logger.logLevel = .trace
        let broker = try await Broker(file: file.path, options: options)
        let other = try SealedPayload(
            key: "k9",
            bytes: KeyRing(sealingWith: "k9", SymmetricKey(size: .bits256))
                .seal(Data(Self.canary.utf8), as: SealingContext(kind: "note", version: 1)).bytes
        )
        let envelope = #"{"sluice_sealed":"\#(other.bytes.base64EncodedString())","key":"k9"}"#
        try await broker.enqueue(raw: [
            RawAction(queue: "a", kind: "note", payload: envelope),
            RawAction(queue: "b", kind: "note", payload: #"["CANARY4711"]"#),
        ])
        // A completion that is called twice is logged.
        try broker.route("*", completing: Note.self) { _, _, completion in
            completion(.success)
            completion(.success)
        }
        try await broker.enqueue(Note(text: Self.canary))
        var reasons: [String] = []
        try await running(broker) {
            await broker.waitUntilIdle()
            for status in try await broker.statuses() {
                reasons += ["\(String(reflecting: status))", status.lastError ?? ""]
            }
        }
        await broker.close()
        #expect(reasons.contains { $0.contains("threw Leaky") })
        #expect(!lines.elements.isEmpty)
        for text in reasons + lines.elements {
            #expect(!text.contains(Self.canary) && !text.contains("ABCDEFG"))
        }
    }
}

/// An error whose text says what nobody is to know.
private struct Leaky: Error, CustomStringConvertible {
    var description: String { "CANARY4711 ABCDEFGHIJ" }
}
#endif
