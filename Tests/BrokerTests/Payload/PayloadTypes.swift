import Foundation

/// Types that cover what the coder tells apart.
enum PayloadTypes {
    struct Message: Codable, Equatable {
        var conversation = "made-up-1"
        var sentAt = "2026-01-01T00:00:00.000000"
        var sender = "Ada"
        var text = "Hello, \"world\" \\ / \n\t\u{1} é 漢字 👩‍👩‍👧 \u{2028} \u{0} \u{7F}"
    }

    struct Numbers: Codable, Equatable {
        var int = Int.min
        var int8 = Int8.min
        var int16 = Int16.max
        var int32 = Int32.min
        var int64 = Int64.max
        var uint = UInt.max
        var uint8 = UInt8.max
        var uint16 = UInt16.max
        var uint32 = UInt32.max
        var uint64 = UInt64.max
        var float: Float = 0.1
        var double = 0.1
        var whole = 5.0
        var tiny = Double.leastNonzeroMagnitude
        var huge = Double.greatestFiniteMagnitude
        var bool = true
    }

    struct Wide: Codable, Equatable {
        var signed = Int128(Int64.min) - 1
        var unsigned = UInt128(UInt64.max) + 1
        var small: Int128 = -7
    }

    struct Optionals: Codable, Equatable {
        var none: Int?
        var some: String? = "x"
        var nested: [Int?] = [1, nil, 3]
        var deep: Int??
    }

    /// Writes nil instead of leaving a key out.
    struct ExplicitNil: Codable, Equatable {
        var value: Int?

        enum CodingKeys: String, CodingKey { case value }

        init(value: Int? = nil) { self.value = value }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            value = try container.decodeNil(forKey: .value) ? nil : container.decode(Int.self, forKey: .value)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            if let value {
                try container.encode(value, forKey: .value)
            } else {
                try container.encodeNil(forKey: .value)
            }
        }
    }

    enum Color: String, Codable, CaseIterable { case red, green }
    struct Tag: RawRepresentable, Codable, Equatable, Hashable { var rawValue: Int }

    enum Shape: Codable, Equatable {
        case point
        case circle(radius: Double)
        indirect case pair(Shape, second: Shape)
    }

    struct Nested: Codable, Equatable {
        var messages = [Message(), Message(text: "")]
        var byName = ["a": [1, 2], "b": []]
        var byNumber = [1: "one", -2: "two"]
        var byColor = [Color.red: 1]
        var byTag = [Tag(rawValue: 3): "three"]
        var shape = Shape.pair(.circle(radius: 1.5), second: .point)
        var empty: [String] = []
        var none: [String: Int] = [:]
        var colors: Set<Color> = [.green]
        var range = 1..<5
        var tag = Tag(rawValue: -1)
        var words = ["", "a", "é"]
        var flags = [true, false]
        var doubles = [0.5, 1e300, -2]
    }

    struct Foreign: Codable, Equatable {
        var date = Date(timeIntervalSinceReferenceDate: 12_345.678)
        var id = UUID(uuidString: "9F0C8C2A-3B0A-4B58-9F54-1B2E5A4D7C11")
        var data: Data? = Data([0, 1, 254, 255])
        var url: URL? = URL(string: "https://example.org/a/b?c=d")
        var decimal: Decimal? = Decimal(string: "3.14159265358979323846264338327950288")
        var float: Float? = 1.1754944e-38
    }

    class Base: Codable {
        var base = 1
    }

    final class Derived: Base, Equatable {
        var own = "own"

        private enum CodingKeys: String, CodingKey { case own }

        override init() { super.init() }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            own = try container.decode(String.self, forKey: .own)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(own, forKey: .own)
            try super.encode(to: container.superEncoder())
        }

        static func == (left: Derived, right: Derived) -> Bool {
            left.own == right.own && left.base == right.base
        }
    }

    /// Takes what it can, and swallows what it cannot.
    struct Lenient: Codable, Equatable {
        var count: Int
        var words: [String]
        var url: URL?

        enum CodingKeys: String, CodingKey { case count, words, url }

        init(count: Int = 1, words: [String] = ["a"], url: URL? = nil) {
            self.count = count
            self.words = words
            self.url = url
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            count = (try? container.decode(Int.self, forKey: .count)) ?? -1
            words = (try? container.decode([String].self, forKey: .words)) ?? []
            url = try? container.decodeIfPresent(URL.self, forKey: .url)
        }
    }

    /// A value that is another's alone.
    struct Wrapper<Wrapped: Codable & Equatable>: Codable, Equatable {
        var wrapped: Wrapped

        init(_ wrapped: Wrapped) { self.wrapped = wrapped }

        init(from decoder: any Decoder) throws {
            wrapped = try decoder.singleValueContainer().decode(Wrapped.self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(wrapped)
        }
    }

    struct Tree: Codable, Equatable {
        var children: [Tree] = []

        init(depth: Int) {
            if depth > 0 { children = [Tree(depth: depth - 1)] }
        }
    }
}

/// Encodes itself as a closure says.
struct Script: Encodable {
    typealias Keyed = KeyedEncodingContainer<PayloadKey>

    let body: (any Encoder) throws -> Void

    init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }

    static func keyed(_ body: @escaping (inout Keyed) throws -> Void) -> Script {
        Script { encoder in
            var container = encoder.container(keyedBy: PayloadKey.self)
            try body(&container)
        }
    }

    func encode(to encoder: any Encoder) throws { try body(encoder) }
}

/// Any key.
struct PayloadKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    init(stringLiteral value: String) { self.init(stringValue: value) }
}
