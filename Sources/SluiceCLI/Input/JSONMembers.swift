internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The members of a JSON object, each as the text that it is written in: a payload keeps its digits, its
/// escapes and the order of its own members.
struct JSONMembers {
    private(set) var values: [String: Substring.UTF8View] = [:]

    /// Reads an object.
    init(_ line: String) throws(Refusal) {
        guard JSONGrammar.accepts(line) else { throw Refusal("it is not valid JSON") }
        var rest = line[...].utf8
        Self.skipSpace(&rest)
        guard rest.popFirst() == UInt8(ascii: "{") else { throw Refusal("it is no JSON object") }
        Self.skipSpace(&rest)
        // From here on the grammar is known to be kept.
        while rest.first == UInt8(ascii: "\"") {
            let name = try Self.text(Self.takeValue(&rest), of: "a field's name")
            Self.skipSpace(&rest)
            rest.removeFirst()
            Self.skipSpace(&rest)
            guard values.updateValue(Self.takeValue(&rest), forKey: name) == nil else {
                throw Refusal("it has the field '\(name)' twice")
            }
            Self.skipSpace(&rest)
            rest.removeFirst()
            Self.skipSpace(&rest)
        }
    }

    /// The text of a member as it stands there; `nil` where it is missing or `null`.
    func raw(_ field: String) -> String? {
        guard let value = values[field].map({ String(Substring($0)) }), value != "null" else { return nil }
        return value
    }

    /// A text; `nil` where it is missing or `null`.
    func text(_ field: String) throws(Refusal) -> String? {
        guard let value = values[field], raw(field) != nil else { return nil }
        return try Self.text(value, of: "the field '\(field)'")
    }

    /// An integer; `nil` where it is missing or `null`.
    func integer(_ field: String) throws(Refusal) -> Int64? {
        guard let value = raw(field) else { return nil }
        guard let integer = Int64(value) else { throw Refusal("the field '\(field)' is no 64-bit integer") }
        return integer
    }

    private static func text(_ value: Substring.UTF8View, of name: String) throws(Refusal) -> String {
        let text = String(Substring(value))
        guard text.hasPrefix("\"") else { throw Refusal("\(name) is no text") }
        if !value.contains(UInt8(ascii: "\\")) { return String(text.dropFirst().dropLast()) }
        do {
            return try JSONDecoder().decode(String.self, from: Data(text.utf8))
        } catch {
            throw Refusal("\(name) is no text that UTF-8 could hold")
        }
    }

    /// Takes a value that stands at the beginning.
    private static func takeValue(_ rest: inout Substring.UTF8View) -> Substring.UTF8View {
        var depth = 0
        var isInString = false
        var index = rest.startIndex
        scan: while index < rest.endIndex {
            let byte = rest[index]
            if isInString {
                if byte == UInt8(ascii: "\\") { index = rest.index(after: index) }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { break scan }
                    depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                    if depth == 0 { break scan }
                default: break
                }
            }
            index = rest.index(after: index)
        }
        defer { rest = rest[index...] }
        return rest[..<index]
    }

    private static func skipSpace(_ rest: inout Substring.UTF8View) {
        while let byte = rest.first, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { rest.removeFirst() }
    }
}
