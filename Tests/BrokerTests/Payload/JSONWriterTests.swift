import Foundation
import SluiceJSON
import SluiceSQLite
import TestSupport
import Testing

@testable import Sluice

@Suite("Writing JSON", .watched)
struct JSONWriterTests {
    /// Writes a value, and compares with what Foundation makes of it.
    private func expectWritten(
        _ value: some Encodable,
        _ site: SourceLocation = #_sourceLocation
    ) throws {
        let written = JSONWriter.text(of: value, datesAsText: false)
        let text = try #require(written, "it is left to Foundation", sourceLocation: site)
        let expected = try JSONEncoder().encode(value)
        #expect(JSONGrammar.accepts(text), "\(text)", sourceLocation: site)
        let isSame = try Self.json(Data(text.utf8)).isEqual(Self.json(expected))
        #expect(isSame, "\(text) is not \(String(decoding: expected, as: UTF8.self))", sourceLocation: site)
    }

    private static func json(_ data: Data) throws -> NSObject {
        try #require(JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) as? NSObject)
    }

    private func expectLeft(_ value: some Encodable, _ site: SourceLocation = #_sourceLocation) {
        let text = JSONWriter.text(of: value)
        #expect(text == nil, sourceLocation: site)
    }

    @Test("Ordinary values are written as Foundation writes them")
    func ordinary() throws {
        try expectWritten(PayloadTypes.Message())
        try expectWritten(PayloadTypes.Numbers())
        try expectWritten(PayloadTypes.Wide())
        try expectWritten(PayloadTypes.Optionals())
        try expectWritten(PayloadTypes.Optionals(none: 1, some: nil, deep: .some(nil)))
        try expectWritten(PayloadTypes.ExplicitNil())
        try expectWritten(PayloadTypes.ExplicitNil(value: 0))
        try expectWritten(PayloadTypes.Nested())
        try expectWritten(PayloadTypes.Foreign(data: nil, url: nil, decimal: nil))
        try expectWritten(PayloadTypes.Lenient())
        try expectWritten(PayloadTypes.Wrapper(PayloadTypes.Wrapper([1, 2])))
        try expectWritten(PayloadTypes.Wrapper(String?.none))
        try expectWritten(PayloadTypes.Tree(depth: 30))
        try expectWritten(Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0)", $0) }))
        try expectWritten([[[[1.5]]], []])
    }

    @Test("Numbers are written so that they come back bit by bit")
    func numbers() throws {
        let doubles = [0, -0.0, 1, -1.5, 1e16, 1e22, 123_456_789.123, .pi, .leastNonzeroMagnitude]
        for number in doubles + [-Double.greatestFiniteMagnitude, 5e-7] {
            let text = try #require(JSONWriter.text(of: number))
            #expect(Double(text)?.bitPattern == number.bitPattern, "\(text)")
            try expectWritten(number)
        }
        for number in [0.1, 16_777_216, Float.leastNonzeroMagnitude, -.greatestFiniteMagnitude] as [Float] {
            #expect(JSONWriter.text(of: number).flatMap(Float.init)?.bitPattern == number.bitPattern)
        }
        #expect(JSONWriter.text(of: Int.min) == "\(Int.min)")
        #expect(JSONWriter.text(of: UInt64.max) == "\(UInt64.max)")
        #expect(JSONWriter.text(of: Int128.min) == "\(Int128.min)")
    }

    @Test(
        "Strings with any scalar below 256 at any place are written so that they come back"
    )
    func strings() throws {
        let scalars = (0..<256).compactMap { Unicode.Scalar(UInt32($0)) }
        for scalar in scalars + ["\u{2028}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}"] {
            for place in [0, 1, 7, 8, 15, 16, 17, 40] {
                let string = String(repeating: "x", count: place) + String(scalar) + "yz"
                let text = try #require(JSONWriter.text(of: string))
                #expect(JSONGrammar.accepts(text))
                #expect(try JSONDecoder().decode(String.self, from: Data(text.utf8)) == string)
            }
        }
    }

    @Test("Key order is that of the declaration")
    func keyOrder() {
        let message = PayloadTypes.Message(conversation: "a", sentAt: "b", sender: "c", text: "d/e")
        let expected = #"{"conversation":"a","sentAt":"b","sender":"c","text":"d/e"}"#
        #expect(JSONWriter.text(of: message) == expected)
    }

    @Test("Nested containers in the order of a stack are written")
    func nestedContainers() throws {
        try expectWritten(
            Script.keyed { container in
                var object = container.nestedContainer(keyedBy: PayloadKey.self, forKey: "object")
                try object.encode(1, forKey: "a")
                var inner = object.nestedUnkeyedContainer(forKey: "inner")
                try inner.encode(contentsOf: ["x", "y"])
                #expect(inner.count == 2)
                var array = container.nestedUnkeyedContainer(forKey: "array")
                var first = array.nestedContainer(keyedBy: PayloadKey.self)
                try first.encodeNil(forKey: "b")
                try array.encodeNil()
                var second = array.nestedUnkeyedContainer()
                try second.encode(2)
                try container.encode("end", forKey: "end")
            }
        )
    }

    @Test("What Foundation treats in its own way is left to it")
    func foreign() {
        expectLeft(PayloadTypes.Foreign())
        expectLeft(Data([1]))
        expectLeft([URL(fileURLWithPath: "/")])
        expectLeft(Decimal(1))
        expectLeft(PayloadTypes.Wrapper(URL?(URL(fileURLWithPath: "/"))))
        expectLeft(PayloadTypes.Derived())
        expectLeft([Double.nan])
        expectLeft(Float.infinity)
        expectLeft(["é": 1])
        expectLeft(["a\"b": 1])
        expectLeft(PayloadTypes.Tree(depth: 300))
    }

    @Test("What is out of the order of a stack is left to Foundation, even if errors are swallowed")
    func outOfOrder() {
        expectLeft(
            Script.keyed { container in
                var first = container.nestedContainer(keyedBy: PayloadKey.self, forKey: "first")
                var second = container.nestedContainer(keyedBy: PayloadKey.self, forKey: "second")
                try second.encode(1, forKey: "a")
                try? first.encode(1, forKey: "a")
            }
        )
        expectLeft(
            Script.keyed { container in
                var nested = container.nestedUnkeyedContainer(forKey: "nested")
                try container.encode(1, forKey: "a")
                try? nested.encode(1)
            }
        )
        expectLeft(
            Script.keyed { container in
                var outer = container.nestedUnkeyedContainer(forKey: "outer")
                let alias = outer
                let inner = Script { encoder in
                    var single = encoder.singleValueContainer()
                    try single.encode(1)
                    var same = alias
                    try same.encode(2)
                }
                try outer.encode(inner)
            }
        )
        expectLeft(
            Script { encoder in
                var first = encoder.container(keyedBy: PayloadKey.self)
                try first.encode(1, forKey: "a")
                var second = encoder.container(keyedBy: PayloadKey.self)
                try second.encode(2, forKey: "b")
            }
        )
    }

    @Test("Values that write nothing, keys that stand twice and swallowed errors are left to Foundation")
    func ambiguous() {
        expectLeft(Script { _ in })
        expectLeft(Script.keyed { try $0.encode(Script { _ in }, forKey: "a") })
        expectLeft(
            Script.keyed { container in
                try container.encode(1, forKey: "a")
                try container.encode(2, forKey: "a")
            }
        )
        expectLeft(
            Script.keyed { container in
                for number in 0..<40 {
                    try container.encode(number, forKey: PayloadKey(intValue: number % 39))
                }
            }
        )
        expectLeft(
            Script.keyed { container in
                try? container.encode(Script { _ in throw CancellationError() }, forKey: "a")
                try container.encode(2, forKey: "b")
            }
        )
        let failing = Script.keyed { container in
            try container.encode(1, forKey: "b")
            throw CancellationError()
        }
        expectLeft(Script.keyed { container in try? container.encode(failing, forKey: "a") })
        expectLeft(Script.keyed { try $0.encode($0.codingPath.count, forKey: "depth") })
    }

    @Test("A container that outlives its value leaves the value to Foundation, and writes nothing any more")
    func escaping() throws {
        nonisolated(unsafe) var kept: KeyedEncodingContainer<PayloadKey>?  // Used on this thread alone.
        expectLeft(
            Script.keyed { container in
                try container.encode(1, forKey: "a")
                kept = container
            }
        )
        try kept?.encode(2, forKey: "b")
    }

    @Test("User code is told the path that leads to it")
    func path() throws {
        nonisolated(unsafe) var paths: [[String]] = []  // Used on this thread alone.
        let inner = Script { encoder in
            paths.append(encoder.codingPath.map(\.stringValue))
            var single = encoder.singleValueContainer()
            try single.encode(1)
        }
        let outer = Script.keyed { container in try container.encode(["b": [inner]], forKey: "a") }
        expectLeft(outer)
        _ = try JSONEncoder().encode(outer)
        #expect(paths.count == 2 && paths.first == paths.last, "\(paths)")
    }

    @Test("SQLite takes what is written")
    func sqlite() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let statement = try connection.prepare("SELECT json_valid(?1)")
        for text in [
            JSONWriter.text(of: PayloadTypes.Message()), JSONWriter.text(of: PayloadTypes.Numbers()),
            JSONWriter.text(of: PayloadTypes.Nested()), JSONWriter.text(of: [String: Int]()),
        ] {
            let text = try #require(text)
            #expect(try statement.bind(1, text).first { $0.int64(0) } == 1, "\(text)")
        }
    }
}
