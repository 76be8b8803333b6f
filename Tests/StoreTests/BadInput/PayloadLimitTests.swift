import Foundation
import SluiceJSON
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A value that encodes to so many bytes.
private struct Text: Action {
    static let kind = "text"
    var text: String
    var queue: QueueName { "texts" }

    init(bytes: Int) { text = String(repeating: "x", count: bytes - #"{"text":""}"#.utf8.count) }
    init(_ text: String) { self.text = text }
}

/// Arrays inside each other.
private indirect enum Nest: Codable, Sendable {
    case end
    case inner(Nest)

    init(depth: Int) { self = (0..<depth).reduce(.end) { nest, _ in .inner(nest) } }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        if case .inner(let nest) = self { try container.encode(nest) }
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        self = container.isAtEnd ? .end : .inner(try container.decode(Nest.self))
    }
}

private struct Deep: Action {
    static let kind = "deep"
    var nest: Nest
    var queue: QueueName { "deep" }
}

@Suite("Payloads and names at their limits", .watched) struct PayloadLimitTests {
    @Test(
        "G14: a payload of exactly the limit is stored and runs; one byte more is refused and stores nothing"
    )
    func limit() async throws {
        for limit in [12, 4_096, 1_000_000] {
            let site = try Site()
            let broker = try await site.broker { $0.maximumPayloadByteCount = limit }
            let counts = EventLog<Int>()
            try broker.route("*", Text.self) { text, _ in
                counts.append(text.text.utf8.count)
                return .success
            }
            try await broker.enqueue(Text(bytes: limit))
            let raw = "\"" + String(repeating: "é", count: (limit - 2) / 2) + "\""
            try await broker.enqueue(raw: [RawAction(queue: "raw", kind: "x", payload: raw)])
            for refused in [
                { try await broker.enqueue(Text(bytes: limit + 1)) },
                { try broker.enqueueBlocking(Text(bytes: limit + 1)) },
            ] as [() async throws -> EnqueueReceipt] {
                let error = await #expect(throws: SluiceError.self) { try await refused() }
                #expect(error?.code == .payloadTooLarge)
                #expect(error?.message.contains("\(limit + 1) bytes, more than \(limit)") == true)
            }
            try await #expect(broker.actionCount() == 2)
            try await running(broker) { _ = try await counts.wait(forCount: 1) }
            #expect(counts.elements == [limit - 11])
            await broker.close()
        }
    }

    @Test("Text of every kind comes back as it was: empty, NUL, emoji, combining marks, unpaired escapes")
    func text() async throws {
        let texts = [
            "", "\u{0}", "a\u{0}b", "🧑‍🚀👩‍👩‍👧‍👦🇩🇪", "e\u{301}", "\u{E9}", "\u{FEFF}bom", "\u{202E}left",
            "\u{10FFFF}\u{FFFD}", "\"\\/\u{8}\u{C}\n\r\t\u{1F}\u{7F}\u{85}", "</script>",
            "'; DROP TABLE x; --",
            String(repeating: "\u{301}", count: 10_000),
        ]
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Text.self) { text, _ in
            log.append(text.text)
            return .success
        }
        try await broker.enqueue(texts.map { Text($0) })
        try await running(broker) { _ = try await log.wait(forCount: texts.count) }
        #expect(log.elements.map { Array($0.utf8) } == texts.map { Array($0.utf8) })
        await broker.close()
    }

    @Test("Raw payloads that are no JSON are refused, each with the code, and none is stored")
    func noJSON() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        for payload in [
            "", " ", "\u{0}", "nul", "{", "[1,]", "{\"a\":1,}", "01", "1.", "NaN", "Infinity", "-Infinity",
            "1e", "\"\u{1}\"", "\"a", "'a'", "{a:1}", "[1]x", "\u{FEFF}1", "// 1", #""\ud800"#, #""\u12G4""#,
            String(repeating: "[", count: 513) + String(repeating: "]", count: 513),
            String(repeating: "[", count: 2_000_000), String(repeating: #"{"a":"#, count: 100_000),
        ] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.enqueue(raw: [
                    RawAction(queue: "q", kind: "k", payload: "1"),
                    RawAction(queue: "q", kind: "k", payload: payload),
                ])
            }
            #expect(error?.code == .payloadNotJSON, "\(payload.prefix(20).debugDescription)")
        }
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("JSON as deep as the limit is stored and decoded; one level more is the typed error, and no crash")
    func depth() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let deepest = JSONGrammar.maximumDepth
        let text = String(repeating: "[", count: deepest) + String(repeating: "]", count: deepest)
        try await broker.enqueue(raw: [RawAction(queue: "q", kind: "k", payload: text)])
        let log = EventLog<Bool>()
        try broker.route("deep", Deep.self) { _, _ in
            log.append(true)
            return .success
        }
        // The object is one level, and the innermost array another.
        for depth in [1, 100, 126, 127, 128, 400] {
            try await broker.enqueue(Deep(nest: Nest(depth: depth)))
        }
        // What could not be decoded again is not taken.
        for depth in [deepest, 600, 1_500] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.enqueue(Deep(nest: Nest(depth: depth)))
            }
            #expect(error?.code == .payloadNotEncodable, "\(depth)")
        }
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements.count == 6)
        try await #expect(broker.status(of: "deep").state == .empty)
        await broker.close()
    }

    @Test("Sort keys at the ends of their types have their places, infinities too, and NaN is refused")
    func sortKeys() async throws {
        let reals: [Double] = [
            .infinity, 0, -0.0, .leastNonzeroMagnitude, -.infinity, .greatestFiniteMagnitude,
            .leastNormalMagnitude, -1,
        ]
        let site = try Site()
        let broker = try await site.broker { $0.concurrency = 1 }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        for real in reals { try await broker.enqueue(Note("\(real)", in: "reals", order: .real(real))) }
        for integer in [Int64.max, 0, .min] {
            try await broker.enqueue(Note("\(integer)", in: "integers", order: .integer(integer)))
        }
        let dates: [(String, Date)] = [
            ("future", .distantFuture), ("max", Date(timeIntervalSince1970: 1e300)), ("now", Date()),
            ("past", .distantPast), ("min", Date(timeIntervalSince1970: -1e300)),
        ]
        for (name, date) in dates { try await broker.enqueue(Note(name, in: "dates", order: .date(date))) }
        for text in ["b", "", "\u{10FFFF}", "a", String(repeating: "x", count: 100_000), "a\u{0}"] {
            try await broker.enqueue(Note("t\(text.prefix(3))", in: "texts", order: .text(text)))
        }
        for nan in [Double.nan, -.nan, .signalingNaN] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.enqueue(Note("x", in: "reals", order: .real(nan)))
            }
            #expect(error?.code == .sortKeyNotANumber)
        }
        for status in try await broker.statuses() { #expect(!"\(status)".isEmpty) }
        try await running(broker) { await broker.waitUntilIdle() }
        func order(_ texts: [String]) -> [String] { log.elements.filter { texts.contains($0) } }
        #expect(
            order(reals.map { "\($0)" }).map { Double($0) ?? .nan }
                == reals.sorted { ($0, reals.firstIndex(of: $0) ?? 0) < ($1, reals.firstIndex(of: $1) ?? 0) }
        )
        #expect(order(["\(Int64.max)", "\(Int64.min)"]) == ["\(Int64.min)", "\(Int64.max)"])
        #expect(order(dates.map(\.0)) == ["min", "past", "now", "future", "max"])
        #expect(
            log.elements.filter { $0.hasPrefix("t") } == ["t", "ta", "ta\u{0}", "tb", "txxx", "t\u{10FFFF}"]
        )
        await broker.close()
    }

    @Test("Names of the longest length work, longer and empty ones are refused by their own codes")
    func names() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let longest = String(repeating: "é", count: 256)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a", in: QueueName(longest)))
        for (name, code) in [
            ("", SluiceError.Code.invalidQueueName), (longest + "x", .invalidQueueName),
            (String(repeating: "x", count: 10_000_000), .invalidQueueName), ("a\u{0}", .invalidQueueName),
        ] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.enqueue(Note("b", in: QueueName(name)))
            }
            #expect(error?.code == code)
            #expect((error?.message.utf8.count ?? 0) < 5_000)
        }
        for kind in ["", String(repeating: "k", count: 256), "k\u{0}"] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.enqueue(raw: [RawAction(queue: "q", kind: kind, payload: "1")])
            }
            #expect(error?.code == .invalidKind)
        }
        try await broker.enqueue(raw: [
            RawAction(queue: "q", kind: String(repeating: "k", count: 255), payload: "1")
        ])
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        await broker.close()
    }
}
