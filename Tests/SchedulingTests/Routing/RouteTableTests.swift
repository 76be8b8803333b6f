import TestSupport
import Testing

@testable import Sluice

extension RouteTable {
    fileprivate mutating func add(
        _ pattern: QueuePattern,
        _ kind: String?,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try add(.pattern(pattern), kinds: [kind], options: options) { _, _ in .outcome(.success) }
    }
}

@Suite("Routing by queue and kind", .watched) struct RouteTableTests {
    /// A table with a route for each (pattern, kind), in that order; ids count from 0.
    private static func table(_ routes: [(QueuePattern, String?)]) throws -> RouteTable {
        var table = RouteTable()
        for (pattern, kind) in routes {
            try table.add(pattern, kind)
        }
        return table
    }

    private static func index(_ table: RouteTable, _ queue: QueueName, _ kind: String = "note") -> Int? {
        table.admission.route(for: queue, kind: kind).route?.id.rawValue
    }

    @Test("The exact name wins, then the longest prefix, whatever the order in which they were added")
    func mostSpecific() throws {
        let patterns: [QueuePattern] = ["*", "a/b/*", "a/*", "a/b/c", "a/b/c/d/*"]
        for rotation in patterns.indices {
            let rotated = Array(patterns[rotation...] + patterns[..<rotation])
            let table = try Self.table(rotated.map { ($0, "note") })
            func pattern(_ queue: QueueName) -> QueuePattern? { Self.index(table, queue).map { rotated[$0] } }
            #expect(pattern("a/b/c") == "a/b/c")
            #expect(pattern("a/b/x") == "a/b/*")
            #expect(pattern("a/b/c/d") == "a/b/*")
            #expect(pattern("a/b/c/d/e") == "a/b/c/d/*")
            #expect(pattern("a/b") == "a/*")
            #expect(pattern("a") == "*")
            #expect(pattern("z/b/c") == "*")
        }
    }

    @Test("A prefix claims no queue whose name merely begins alike, nor its own name without the slash")
    func overlappingPrefixes() throws {
        let table = try Self.table([("Message/*", "note"), ("MessageArchive/*", "note")])
        #expect(Self.index(table, "Message/1") == 0)
        #expect(Self.index(table, "Message/") == 0)
        #expect(Self.index(table, "MessageArchive/1") == 1)
        #expect(Self.index(table, "MessageArchive") == nil)
        #expect(Self.index(table, "Message") == nil)
        #expect(Self.index(table, "Messages/1") == nil)
        #expect(Self.index(table, "message/1") == nil)
    }

    @Test("A kind without a route at the most specific pattern falls back to a wider one")
    func kindFallsBack() throws {
        let table = try Self.table([("*", "photo"), ("a/*", "note"), ("a/x", "call")])
        #expect(Self.index(table, "a/x", "call") == 2)
        #expect(Self.index(table, "a/x", "note") == 1)
        #expect(Self.index(table, "a/x", "photo") == 0)
        #expect(Self.index(table, "b", "note") == nil)
    }

    @Test(
        "A route for any kind takes what has no route of its own at the same pattern, before wider patterns"
    )
    func anyKind() throws {
        let table = try Self.table([("*", "note"), ("a/*", nil), ("a/*", "photo")])
        #expect(Self.index(table, "a/1", "photo") == 2)
        #expect(Self.index(table, "a/1", "note") == 1)
        #expect(Self.index(table, "a/1", "call") == 1)
        #expect(Self.index(table, "b", "call") == nil)
    }

    @Test("It tells a queue without any route from a kind without one")
    func tellsWhy() throws {
        let table = try Self.table([("a/*", "note")])
        #expect(!table.admission.route(for: "b/1", kind: "note").matchesQueue)
        #expect(table.admission.route(for: "a/1", kind: "photo").matchesQueue)
        #expect(table.admission.route(for: "a/1", kind: "photo").route == nil)
    }

    @Test("A second route for a pattern and a kind is refused, for any kind too, and the first one stays")
    func duplicates() throws {
        var table = try Self.table([("a/*", "note"), ("a/*", nil), ("a", "note")])
        for (pattern, kind) in [("a/*", "note"), ("a/*", nil), ("a", "note")] as [(QueuePattern, String?)] {
            let error = #expect(throws: SluiceError.self) {
                try table.add(pattern, kind)
            }
            #expect(error?.code == .duplicateRoute)
            #expect(error?.message.contains("'\(pattern)'") == true)
        }
        #expect(Self.index(table, "a/1") == 0)
        #expect(Self.index(table, "a/1", "x") == 1)
    }

    @Test("A route that replaces takes the place of its pattern's for its kinds alone, or changes nothing")
    func replaces() throws {
        var table = try Self.table([("*", "note"), ("a/*", "note"), ("a/*", "photo")])
        try table.add("a/*", "note", RouteOptions(replaces: true))
        try table.add("b", "note", RouteOptions(replaces: true))
        #expect(Self.index(table, "a/1") == 3)
        #expect(Self.index(table, "a/1", "photo") == 2)
        #expect(Self.index(table, "b") == 4)
        let limited = RouteOptions(rate: RateLimit(1, per: .seconds(1), name: "server"))
        try table.add("c", "note", limited)
        let other = RouteOptions(rate: RateLimit(2, per: .seconds(1), name: "server"), replaces: true)
        #expect(throws: SluiceError.self) { try table.add("a/*", "note", other) }
        #expect(Self.index(table, "a/1") == 3)
        // The route that has other numbers is the one that is replaced.
        try table.add("c", "note", other)
        let error = #expect(throws: SluiceError.self) {
            let options = RouteOptions(replaces: true)
            try table.add(.predicate { _ in true }, kinds: ["note"], options: options) { _, _ in
                .outcome(.success)
            }
        }
        #expect(error?.code == .invalidOptions)
    }

    @Test("A rate limit's name is by default the pattern and the kinds; one name has the same numbers")
    func rateNames() throws {
        var table = RouteTable()
        func name(_ queue: QueueName, _ kind: String) -> String? {
            table.admission.route(for: queue, kind: kind).route?.rate?.name
        }
        func limited(_ starts: Int, _ name: String? = nil) -> RouteOptions {
            RouteOptions(rate: RateLimit(starts, per: .seconds(60), name: name))
        }
        try table.add("a/*", "note", limited(1))
        try table.add("a/*", nil, limited(2))
        try table.add(.predicate { _ in true }, kinds: ["photo", "call"], options: limited(3)) { _, _ in
            .outcome(.success)
        }
        #expect(name("a/1", "note") == "a/* note")
        #expect(name("a/1", "x") == "a/* *")
        #expect(name("b", "photo") == "* call,photo")
        // What was refused for another reason has not used the name.
        #expect(throws: SluiceError.self) { try table.add("a/*", "note", limited(1, "server")) }
        try table.add("c", "note", limited(2, "server"))
        let error = #expect(throws: SluiceError.self) { try table.add("d", "note", limited(3, "server")) }
        #expect(error?.code == .invalidOptions)
        #expect(error?.message == "the routes 'c' and 'd' limit 'server' to different rates")
        try table.add("e", "note", limited(2, "server"))
        for queue in ["c", "e"] as [QueueName] {
            #expect(table.admission.route(for: queue, kind: "note").route?.rate?.line.rawValue == 3)
        }
        let isLong = #expect(throws: SluiceError.self) {
            try table.add(QueuePattern(String(repeating: "x", count: 510)), "note", limited(1))
        }
        #expect(isLong?.code == .invalidOptions)
    }

    @Test(
        "Names and patterns compare by their bytes: two spellings of é are two",
        arguments: [
            ("caf\u{E9}", "cafe\u{301}"), ("caf\u{E9}/*", "cafe\u{301}/*"),
        ]
    )
    func bytes(_ composed: String, _ decomposed: String) throws {
        #expect(composed == decomposed)
        #expect(QueuePattern(composed) != QueuePattern(decomposed))
        let table = try Self.table([(QueuePattern(composed), "note"), (QueuePattern(decomposed), "note")])
        let suffix = composed.hasSuffix("*") ? "/1" : ""
        #expect(Self.index(table, "caf\u{E9}\(suffix)") == 0)
        #expect(Self.index(table, "cafe\u{301}\(suffix)") == 1)
    }

    @Test("A prefix may end inside what Swift holds to be one character")
    func prefixInsideCharacter() throws {
        // The slash and the combining mark behind it are one Character, which no pattern could match as such.
        let table = try Self.table([("a/*", "note")])
        #expect(Self.index(table, "a/\u{301}b") == 0)
    }

    @Test(
        "A pattern is a name, a prefix that ends in '/*', or '*'",
        arguments: [
            "a*", "*a", "a/*/b", "*/*", "a/**", "**", "/*a", "a/* ",
        ]
    )
    func invalidPatterns(_ pattern: String) {
        let error = #expect(throws: SluiceError.self) { try QueuePattern(pattern).form() }
        #expect(error?.code == .invalidPattern)
    }

    @Test(
        "A pattern without a star is held to the limits of names",
        arguments: [
            "", "a\u{0}b", String(repeating: "x", count: 513), String(repeating: "é", count: 257),
        ]
    )
    func invalidNames(_ name: String) {
        let error = #expect(throws: SluiceError.self) { try QueuePattern(name).form() }
        #expect(error?.code == .invalidQueueName)
    }

    @Test("The longest name and the shortest prefixes are patterns")
    func validPatterns() throws {
        let table = try Self.table([
            (QueuePattern(String(repeating: "é", count: 256)), "note"), ("/*", "note"),
        ])
        #expect(Self.index(table, QueueName(String(repeating: "é", count: 256))) == 0)
        #expect(Self.index(table, "/x") == 1)
        #expect(Self.index(table, "x") == nil)
    }

    @Test("Options of a route outside their limits are refused")
    func invalidOptions() throws {
        var spinning = RouteOptions()
        spinning.releaseDelay = .milliseconds(999)
        var immortal = RouteOptions()
        immortal.crashLimit = 0
        let refused = [
            spinning, immortal, RouteOptions(timeout: .zero), RouteOptions(timeout: .seconds(-1)),
            RouteOptions(concurrency: 0),
        ]
        for options in refused {
            var table = RouteTable()
            let error = #expect(throws: SluiceError.self) {
                try table.add("a", "note", options)
            }
            #expect(error?.code == .invalidOptions)
            #expect(Self.index(table, "a") == nil)
        }
    }

    @Test(
        "A kind has 1 to 255 bytes without NUL",
        arguments: ["", String(repeating: "k", count: 256), "a\0b"]
    )
    func invalidKinds(_ kind: String) {
        let error = #expect(throws: SluiceError.self) { try Self.table([("a", kind)]) }
        #expect(error?.code == .invalidKind)
    }

    @Test("Values of a pattern can be replaced and taken away")
    func patternTable() throws {
        var table = PatternTable<Int>()
        table[.prefix(Array("a/".utf8))] = 1
        table[.prefix(Array("a/".utf8))] = 2
        table[.exact("a/x")] = 3
        #expect(Array(table.matches("a/x")) == [3, 2])
        table[.exact("a/x")] = nil
        table[.prefix(Array("b/".utf8))] = nil
        #expect(Array(table.matches("a/x")) == [2])
        table[.prefix(Array("a/".utf8))] = nil
        #expect(Array(table.matches("a/x")).isEmpty)
    }
}
