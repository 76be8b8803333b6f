import TestSupport
import Testing

@Suite("Tuples", .watched)
struct TupleTests {
    /// The generic types and functions whose elements cross from one task or thread to another.
    private static let carriers = [
        "TaskGroup", "withTaskGroup", "withThrowingTaskGroup", "Continuation", "Result", "Task",
        "AsyncStream", "AsyncThrowingStream", "AsyncChannel",
    ]

    /// Swift 6.3.1 compiles a task group of tuples wrongly with `-O`, so that its elements come out damaged.
    ///
    /// `withTaskGroup(of: (Subject, Result<String, any Error>).self)` ended the process. A debug build is
    /// right, and with a structure in place of the tuple a release build is too.
    @Test("Whatever carries values between tasks carries no tuple")
    func carriers() {
        expectNone(Repository.swiftSources.flatMap(Self.violations))
    }

    @Test(
        "A tuple as an element is found, on one line or on several",
        arguments: [
            "await withTaskGroup(of: (Int, String).self) { _ in }",
            "await withThrowingTaskGroup(\n    of: (Int, Result<String, any Error>).self\n) { _ in }",
            "let a: CheckedContinuation<(Int, String), Never>",
            "let a: UnsafeContinuation< (a: Int, b: Int), E>",
            "let a: Result<(id: Int, isNew: Bool), E>", "let a: ThrowingTaskGroup<(Int, Int), E>",
            "AsyncStream<(Int, Int)>.makeStream()", "let a: Task<(Int, Int), Never>",
            "typealias A = Result<[(Int, Int)], E>", "let a: Result<(Int, Int)?, E>",
        ]
    )
    func findsTuples(text: String) {
        #expect(Self.violations(SwiftSource(path: "a.swift", text: "\n" + text)).map(\.path) == ["a.swift"])
    }

    @Test(
        "What is no tuple, or is carried nowhere, passes",
        arguments: [
            "await withTaskGroup(of: Void.self) { _ in }", "let a: Result<(), E>", "let a: [(Int, Int)]",
            "let a: Result<() -> Void, E>", "let a: Result<(Int, Int) -> Void, E>", "let a: Result<Pair, E>",
            "let a: CheckedContinuation<Void, Never>, b: (Int, Int)", "// Result<(Int, Int), E>",
            "func a(_ b: Result<A, E>) -> (Int, Int)",
            "await withTaskGroup(of: [Int: Int].self) { (a, b) in }",
        ]
    )
    func passesOthers(text: String) {
        #expect(Self.violations(SwiftSource(path: "a.swift", text: text)).isEmpty)
    }

    private static func violations(_ source: SwiftSource) -> [Violation] {
        let code = Array(source.lines.map(\.code).joined(separator: "\n").utf8)
        return code.indices.compactMap { start in
            guard let name = carrier(before: start, of: code), hasTuple(code[(start + 1)...]) else {
                return nil
            }
            let line = code[..<start].count { $0 == UInt8(ascii: "\n") } + 1
            return Violation(path: source.path, line: line, message: "\(name) of a tuple: use a structure")
        }
    }

    /// The carrier whose argument begins after an opening bracket.
    private static func carrier(before bracket: Int, of code: [UInt8]) -> String? {
        guard [UInt8(ascii: "<"), UInt8(ascii: "(")].contains(code[bracket]) else { return nil }
        let word = code[..<bracket].reversed().prefix { Token.isPartOfWord($0) }.reversed()
        let isCall = code[bracket] == UInt8(ascii: "(")
        return carriers.first { name in
            guard isCall == name.hasPrefix("with") else { return false }
            return word.suffix(isCall ? word.count : name.utf8.count).elementsEqual(name.utf8)
        }
    }

    /// Whether the first argument has a tuple, alone, in an array or as an optional.
    private static func hasTuple(_ rest: ArraySlice<UInt8>) -> Bool {
        var rest = rest.drop { isSpace($0) }
        if rest.starts(with: "of:".utf8) { rest = rest.dropFirst(3).drop { isSpace($0) } }
        rest = rest.drop { $0 == UInt8(ascii: "[") || isSpace($0) }
        guard rest.first == UInt8(ascii: "(") else { return false }
        var (depth, commas) = (0, 0)
        for (index, byte) in zip(rest.indices, rest) {
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "<"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ">") where rest[index - 1] != UInt8(ascii: "-"): depth -= 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ",") where depth == 1: commas += 1
            default: break
            }
            guard depth == 0 else { continue }
            let after = rest[(index + 1)...].drop { isSpace($0) }
            let isFunction = ["->", "async", "throws"].contains { after.starts(with: $0.utf8) }
            return commas > 0 && !isFunction
        }
        return false
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x0A, 0x09].contains(byte) }
}
