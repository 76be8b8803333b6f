import Foundation
import SluiceJSON
import TestSupport
import Testing

@testable import Sluice

@Suite("Reading JSON", .watched)
struct JSONTapeTests {
    private typealias Types = PayloadTypes

    /// What a text decodes to without Foundation's decoder.
    private func read<Value: Decodable>(_ type: Value.Type, _ text: String) -> Value? {
        try? JSONTape.decode(type, from: text)
    }

    private func judge<Value: Decodable>(_ type: Value.Type, _ text: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(text.utf8))
    }

    /// Expects that a value comes back from what Foundation makes of it, and says the same as Foundation.
    private func expectRead<Value: Codable & Equatable>(
        _ value: Value,
        _ site: SourceLocation = #_sourceLocation
    ) throws {
        for formatting in [[], .prettyPrinted, .withoutEscapingSlashes] as [JSONEncoder.OutputFormatting] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = formatting
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            #expect(read(Value.self, text) == value, "\(text)", sourceLocation: site)
        }
    }

    @Test("Ordinary values are read")
    func ordinary() throws {
        try expectRead(Types.Message())
        try expectRead(Types.Numbers())
        try expectRead(Types.Wide())
        try expectRead(Types.Optionals())
        try expectRead(Types.ExplicitNil())
        try expectRead(Types.ExplicitNil(value: 0))
        try expectRead(Types.Nested())
        try expectRead(Types.Foreign())
        try expectRead(Types.Derived())
        try expectRead(Types.Lenient(url: URL(string: "https://example.org")))
        try expectRead(Types.Wrapper(Types.Wrapper([1, 2])))
        try expectRead(Types.Wrapper(String?.none))
        try expectRead(Types.Tree(depth: 30))
        try expectRead(Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0)", $0) }))
    }

    @Test("Members are found in any order")
    func order() {
        let text = #"{"text":"4","more":{"text":"no"},"sender":"3","conversation":"1","sentAt":"2"}"#
        let expected = Types.Message(conversation: "1", sentAt: "2", sender: "3", text: "4")
        #expect(read(Types.Message.self, text) == expected)
    }

    private static let numbers = [
        "0", "-0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "65536", "1.0", "1e2", "1E+2",
        "100e-2",
        "1.5", "-0.0", "0e5", "0.1", "123456789012345678", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
        "170141183460469231731687303715884105728", "1e400", "-1e400", "1e-400", "4.9e-324", "2e-324", "1e308",
        "16777217", "3.4028236e38", "1e39", "0.30000000000000004", "5e-7", "01", "1.", ".5", "+1", "1e",
        "--1",
        "NaN", "Infinity", "null", "true", "\"1\"", "[]", "{}", "",
    ]

    @Test("Numbers are what Foundation makes of them, bit by bit, for each type", arguments: numbers)
    func number(_ text: String) throws {
        func compare<Value: Decodable & Equatable>(_ type: Value.Type) {
            guard let value = read([Value].self, "[\(text)]") else { return }
            #expect(judge([Value].self, "[\(text)]") == value, "\(type)")
        }
        compare(Int.self)
        compare(Int8.self)
        compare(Int16.self)
        compare(Int32.self)
        compare(Int64.self)
        compare(Int128.self)
        compare(UInt.self)
        compare(UInt8.self)
        compare(UInt16.self)
        compare(UInt32.self)
        compare(UInt64.self)
        compare(UInt128.self)
        compare(Decimal.self)
        compare(Date.self)
        compare(Bool.self)
        if let value = read(Double.self, text) {
            #expect(judge(Double.self, text)?.bitPattern == value.bitPattern)
        }
        if let value = read(Float.self, text) {
            #expect(judge(Float.self, text)?.bitPattern == value.bitPattern)
        }
    }

    @Test("Escapes are what Foundation makes of them")
    func escapes() {
        let text = #""\"\\\/\b\f\n\r\t\u0000\u00e9\u6F22\ud83d\uDE00 plain text in between \u0041""#
        let value = read(String.self, text)
        #expect(value != nil && value == judge(String.self, text))
    }

    private static let odd = [
        "", " ", "{", "[1,]", #"{"a":1,}"#, "[1 2]", "nul", "nulll", "tru", "\u{FEFF}[]", "[] []", "[1]\u{0}",
        #"{"a":1,"a":2}"#, #"{"é":1}"#, #"{"\u0061":1}"#, #"["\ud800"]"#, #"["\udc00"]"#,
        #"["\udc00\ud800"]"#,
        #"["\ud800\u0041"]"#, #"["\x"]"#, #"["\u12g4"]"#, "[\"\u{1}\"]", #"["abc]"#, "{1:2}", "// a\n[]",
        "'a'",
        String(repeating: "[", count: 600) + String(repeating: "]", count: 600),
        "{" + (0..<40).map { "\"\($0 % 39)\":\($0)" }.joined(separator: ",") + "}",
    ]

    @Test("A text that is not ordinary throughout is left to Foundation", arguments: odd)
    func leftAlone(_ text: String) {
        struct Anything: Decodable { init(from decoder: any Decoder) {} }
        #expect(read(Anything.self, text) == nil)
        // Nor is it taken behind what is asked for.
        struct First: Decodable { var first: Int }
        #expect(read(First.self, #"{"first":1,"rest":"# + text + "}") == nil)
    }

    @Test("A swallowed error leaves the value to Foundation")
    func swallowed() {
        #expect(read(Types.Lenient.self, #"{"count":"1","words":["a"]}"#) == nil)
        #expect(read(Types.Lenient.self, #"{"count":1,"words":["a",2]}"#) == nil)
        #expect(read(Types.Lenient.self, #"{"count":1}"#) == nil)
        #expect(read(Types.Lenient.self, #"{"count":1,"words":[]}"#) == Types.Lenient(words: []))
    }

    @Test(
        "A key that Swift takes for one that is written differently leaves the value to Foundation"
    )
    func kelvin() throws {
        struct Asking: Decodable, Equatable {
            let isThere: Bool
            init(from decoder: any Decoder) throws {
                isThere = try decoder.container(keyedBy: PayloadKey.self).contains("\u{212A}")
            }
        }
        #expect(read(Asking.self, #"{"K":1}"#) == nil)
        #expect(judge(Asking.self, #"{"K":1}"#)?.isThere == true)
    }

    @Test("User code that asks for its path leaves the value to Foundation, and is told a path")
    func path() throws {
        struct Asking: Decodable {
            let path: [String]
            init(from decoder: any Decoder) { path = decoder.codingPath.map(\.stringValue) }
        }
        let text = #"{"a":[1,{"b":[{"c":null},2]}]}"#
        typealias Nested = [String: [Element]]
        enum Element: Decodable {
            case path([String])
            case object([String: [Asking]])
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let object = try? container.decode([String: [Asking]].self) {
                    self = .object(object)
                    told.append(contentsOf: object.values.flatMap { $0.map(\.path) })
                } else {
                    self = .path([])
                }
            }
            nonisolated(unsafe) static var told: [[String]] = []  // Used by this test alone.
            var told: [[String]] {
                get { Self.told }
                nonmutating set { Self.told = newValue }
            }
        }
        #expect(read(Nested.self, text) == nil)
        _ = judge(Nested.self, text)
        #expect(Element.told.count == 4)
        #expect(Array(Element.told.prefix(2)) == Array(Element.told.suffix(2)), "\(Element.told)")
    }

    @Test("A decoder that outlives its value leaves the value to Foundation, and still reads")
    func escaping() throws {
        struct Keeping: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) { self.decoder = decoder }
        }
        nonisolated(unsafe) var kept: [any Decoder] = []  // Used on this thread alone.
        struct Failing: Decodable {
            static nonisolated(unsafe) var kept: (any Decoder)?  // Used by this test alone.
            init(from decoder: any Decoder) throws {
                Self.kept = decoder
                throw CancellationError()
            }
        }
        #expect(read(Keeping.self, #"["text that is longer than a small string"]"#) == nil)
        #expect(read(Failing.self, #"["text that is longer than a small string"]"#) == nil)
        if let decoder = Failing.kept { kept.append(decoder) }
        #expect(try kept.map { try [String](from: $0) } == [["text that is longer than a small string"]])
    }
}
