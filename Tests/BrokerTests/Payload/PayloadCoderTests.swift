import Foundation
import SluiceJSON
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What the fast coders say is compared with Foundation; where they say nothing, Foundation is asked anyway.
@Suite("Payloads, ours and Foundation's", .watched)
struct PayloadCoderTests {
    private typealias Types = PayloadTypes

    /// Whether the text was read without Foundation.
    @discardableResult
    private func compare<Value: Decodable & Equatable>(_ type: Value.Type, _ text: String) -> Bool {
        guard let value = try? JSONTape.decode(type, from: text) else { return false }
        let expected = try? JSONDecoder().decode(type, from: Data(text.utf8))
        #expect(expected == value, "\(type) from \(text)")
        return true
    }

    private static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test("No beginning of a text is read otherwise than by Foundation")
    func prefixes() throws {
        func all<Value: Codable & Equatable>(_ value: Value) throws {
            let text = try Self.text(value)
            for count in 0..<text.utf8.count {
                let prefix = String(decoding: text.utf8.prefix(count), as: UTF8.self)
                #expect(!compare(Value.self, prefix), "\(prefix)")
            }
            #expect(compare(Value.self, text), "\(text)")
        }
        try all(Types.Message())
        try all(Types.Numbers())
        try all(Types.Optionals())
        try all(Types.Nested())
        try all(Types.Foreign())
        try all(Types.Derived())
        try all(Types.Lenient())
    }

    @Test("A changed byte makes no text be read otherwise than by Foundation")
    func mutations() throws {
        let bytes = Array("\"\\{}[]:,01-.eEu +tn/a".utf8) + [0, 1, 0x1F, 0x7F, 0x80, 0xC3, 0xFF]
        var count = 0
        func all<Value: Codable & Equatable>(_ value: Value) throws {
            let text = try Array(Self.text(value).utf8)
            for index in text.indices {
                for byte in bytes {
                    var changed = text
                    changed[index] = byte
                    if compare(Value.self, String(decoding: changed, as: UTF8.self)) { count += 1 }
                }
            }
        }
        try all(Types.Message(conversation: "a", sentAt: "é", sender: "\n\u{1}", text: "😀/\""))
        try all(Types.Optionals())
        try all(Types.ExplicitNil(value: 12))
        try all(Types.Lenient(count: 10, words: ["a", ""], url: nil))
        try all(["a": [1.5, -2e-3], "b": []])
        try all([1: true, 23: false])
        try all([Types.Shape.pair(.circle(radius: 1), second: .point)])
        #expect(count > 500)
    }

    @Test("What one writes the other reads, for random values")
    func random() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        for round in 0..<300 {
            let value = Types.random(using: &generator)
            let text = try #require(JSONWriter.text(of: value), "seed \(seed), round \(round)")
            let comment: Comment = "seed \(seed), round \(round): \(text)"
            #expect(JSONGrammar.accepts(text), comment)
            #expect(try JSONDecoder().decode(Types.Random.self, from: Data(text.utf8)) == value, comment)
            #expect(try JSONTape.decode(Types.Random.self, from: text) == value, comment)
            #expect(try JSONTape.decode(Types.Random.self, from: Self.text(value)) == value, comment)
        }
    }

    private struct Odd: Action, Equatable {
        static let kind = "odd"
        var link: URL
        var names: [String: Decimal]
        var queue: QueueName { "odd" }
    }

    @Test("A payload that Foundation alone can write or read goes through")
    func fallback() throws {
        let coder = PayloadCoder(maximumByteCount: 200)
        let odd = Odd(link: URL(fileURLWithPath: "/é"), names: ["é": 1, "e": 2])
        let text = try coder.encode(odd)
        #expect(JSONWriter.text(of: odd) == nil)
        #expect(try coder.decode(Odd.self, from: text).get() == odd)
        let lenient = text.dropLast() + ",}"
        #expect(try coder.decode(Odd.self, from: String(lenient)).get() == odd)
    }

    private struct Dated: Action, Equatable {
        static let kind = "dated"
        var at: Date
        /// Left to Foundation.
        var link: URL?
        var queue: QueueName { "dated" }
    }

    @Test("Dates are ISO 8601 with microseconds, whoever writes them, or numbers if the options say so")
    func dates() throws {
        let coder = PayloadCoder(maximumByteCount: 1_000)
        let numbers = PayloadCoder(maximumByteCount: 1_000, dates: .secondsSince2001)
        let link = URL(fileURLWithPath: "/x")
        for (seconds, text) in [
            (1_777_636_800, "2026-05-01T12:00:00.000000Z"), (0.000_001, "1970-01-01T00:00:00.000001Z"),
            (-0.5, "1969-12-31T23:59:59.500000Z"), (1_709_164_800, "2024-02-29T00:00:00.000000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        ] as [(Double, String)] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(try coder.encode(Dated(at: date)) == #"{"at":"\#(text)"}"#)
            #expect(try coder.encode(Dated(at: date, link: link)).contains(#""at":"\#(text)""#))
            let number = date.timeIntervalSinceReferenceDate
            #expect(try JSONTape.decode([Double].self, from: "[\(number)]") == [number])
            for dated in [Dated(at: date), Dated(at: date, link: link)] {
                for payload in [try coder.encode(dated), try numbers.encode(dated)] {
                    #expect(try coder.decode(Dated.self, from: payload).get() == dated, "\(payload)")
                    #expect(try numbers.decode(Dated.self, from: payload).get() == dated, "\(payload)")
                }
            }
            #expect(!(try numbers.encode(Dated(at: date))).contains("T"))
        }
    }

    @Test("Dates of other programs are read, and other texts are not")
    func foreignDates() throws {
        let coder = PayloadCoder(maximumByteCount: 1_000)
        func read(_ value: String) -> Date? {
            try? coder.decode(Dated.self, from: #"{"at":\#(value)}"#).get().at
        }
        let noon = Date(timeIntervalSince1970: 1_777_636_800)
        for text in ["2026-05-01T12:00:00Z", "2026-05-01T14:00:00+02:00", "2026-05-01 12:00:00.000"] {
            #expect(read("\"\(text)\"") == noon, "\(text)")
        }
        #expect(read("\(noon.timeIntervalSinceReferenceDate)") == noon)
        for text in [#""""#, #""soon""#, #""2026-02-30T00:00:00Z""#, "null", "true", "[]"] {
            #expect(read(text) == nil, "\(text)")
        }
        let far = Date(timeIntervalSince1970: 1e13)
        #expect(try coder.decode(Dated.self, from: coder.encode(Dated(at: far))).get().at == far)
        #expect(throws: SluiceError.self) { try coder.encode(Dated(at: Date(timeIntervalSince1970: .nan))) }
    }

    @Test("Undecodable payloads have Foundation's reasons")
    func reasons() {
        let coder = PayloadCoder(maximumByteCount: .max)
        func reason(_ text: String) -> String? {
            guard case .failure(let undecodable) = coder.decode(Note.self, from: text) else { return nil }
            return undecodable.reason
        }
        let start = "the payload does not decode as 'note': "
        #expect(reason("{}") == start + "the key 'text' is missing")
        #expect(reason(#"{"text":1}"#) == start + "at 'text' it is not a String")
        #expect(reason(#"{"text":null}"#) == start + "at 'text' there is no String")
        #expect(reason(#"{"text":"a""#) == start + "it is malformed")
        #expect(reason(#"{"text":"a"}"#) == nil)
    }

    @Test("A payload above the limit is refused, however it was written")
    func limit() throws {
        let size = try PayloadCoder(maximumByteCount: .max).encode(Note("abc")).utf8.count
        #expect(throws: Never.self) { try PayloadCoder(maximumByteCount: size).encode(Note("abc")) }
        #expect(throws: SluiceError.self) { try PayloadCoder(maximumByteCount: size - 1).encode(Note("abc")) }
    }

    private static let realInput: String = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root.deletingLastPathComponent().appendingPathComponent("shared/data/conversations.jsonl").path
    }()

    @Test(
        "Real chat is written and read without Foundation, to the same values",
        .enabled(
            if: FileManager.default.fileExists(atPath: realInput),
            "this machine has no ../shared/data/conversations.jsonl"
        )
    )
    func realChat() throws {
        let lines = try String(contentsOfFile: Self.realInput, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 1_000)
        for line in lines {
            let expected = try JSONDecoder().decode(Types.Message.self, from: Data(line.utf8))
            let message = try JSONTape.decode(Types.Message.self, from: String(line))
            #expect(message == expected)
            let text = try #require(JSONWriter.text(of: message))
            #expect(try JSONDecoder().decode(Types.Message.self, from: Data(text.utf8)) == expected)
            #expect(try JSONTape.decode(Types.Message.self, from: text) == expected)
        }
    }
}

extension PayloadTypes {
    struct Random: Codable, Equatable {
        var strings: [String]
        var double: Double
        var float: Float
        var int: Int
        var unsigned: UInt64
        var flag: Bool?
        var byName: [String: Int16]
        var children: [Random]
    }

    static func random(depth: Int = 2, using generator: inout SplitMix) -> Random {
        Random(
            strings: (0..<Int.random(in: 0...3, using: &generator)).map { _ in string(using: &generator) },
            double: finite(Double(bitPattern: generator.next())),
            float: finite(Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))),
            int: Int(truncatingIfNeeded: generator.next()) >> Int.random(in: 0...63, using: &generator),
            unsigned: generator.next() >> UInt64.random(in: 0...63, using: &generator),
            flag: [true, false, nil].randomElement(using: &generator) ?? nil,
            byName: ["a": 1, "bc": Int16.random(in: .min ... .max, using: &generator)],
            children: depth == 0
                ? []
                : (0..<Int.random(in: 0...2, using: &generator))
                    .map { _ in random(depth: depth - 1, using: &generator) }
        )
    }

    private static func finite<Number: BinaryFloatingPoint>(_ number: Number) -> Number {
        number.isFinite ? number : 0
    }

    private static func string(using generator: inout SplitMix) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x1F, 0x20...0x7E, 0x20...0x7E, 0x22...0x22, 0x5C...0x5C, 0x7F...0x7FF, 0x800...0xD7FF,
            0xE000...0xFFFF, 0x1_0000...0x10_FFFF,
        ]
        var string = ""
        for _ in 0..<Int.random(in: 0...60, using: &generator) {
            let range = ranges.randomElement(using: &generator) ?? 0x20...0x7E
            let value = UInt32.random(in: range, using: &generator)
            string.unicodeScalars.append(Unicode.Scalar(value) ?? " ")
        }
        return string
    }
}
