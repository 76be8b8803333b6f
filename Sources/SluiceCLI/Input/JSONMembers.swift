#if CommandLineTool
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The members of a JSON object, each as its original text.
///
/// So a payload keeps its digits, its escapes and the order of its own members.
struct JSONMembers {
    private(set) var values: [String: ArraySlice<UInt8>] = [:]

    /// Reads an object.
    init(_ line: String) throws(Refusal) {
        // A payload may have the greatest depth, and is one level deeper in the line's object.
        guard JSONGrammar.accepts(line, depth: JSONGrammar.maximumDepth + 1) else {
            throw Refusal("it is not valid JSON")
        }
        var rest = Array(line.utf8)[...]
        Self.skipSpace(&rest)
        guard rest.popFirst() == UInt8(ascii: "{") else { throw Refusal("it is no JSON object") }
        Self.skipSpace(&rest)
        // From here on the grammar is known to be valid.
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

    /// Returns the text of a member as written; `nil` if it is missing or `null`.
    func raw(_ field: String) -> String? {
        guard let value = values[field], !value.elementsEqual("null".utf8) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    /// Returns a text; `nil` if it is missing or `null`.
    func text(_ field: String) throws(Refusal) -> String? {
        guard let value = values[field], !value.elementsEqual("null".utf8) else { return nil }
        return try Self.text(value, of: "the field '\(field)'")
    }

    /// Returns an integer; `nil` if it is missing or `null`.
    func integer(_ field: String) throws(Refusal) -> Int64? {
        guard let value = raw(field) else { return nil }
        guard let integer = Int64(value) else { throw Refusal("the field '\(field)' is no 64-bit integer") }
        return integer
    }

    /// Returns the texts of an array; none if it is missing or `null`.
    func texts(_ field: String) throws(Refusal) -> [String] {
        guard let value = raw(field) else { return [] }
        do {
            return try JSONDecoder().decode([String].self, from: Data(value.utf8))
        } catch {
            throw Refusal("the field '\(field)' is no array of texts")
        }
    }

    private static func text(_ value: ArraySlice<UInt8>, of name: String) throws(Refusal) -> String {
        guard value.first == UInt8(ascii: "\"") else { throw Refusal("\(name) is no text") }
        if !value.contains(UInt8(ascii: "\\")) {
            return String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
        }
        do {
            return try JSONDecoder().decode(String.self, from: Data(value))
        } catch {
            throw Refusal("\(name) is no text that UTF-8 could hold")
        }
    }

    /// Removes the first value and returns it.
    private static func takeValue(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let count = rest.withUnsafeBufferPointer(valueLength)
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private static func valueLength(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var depth = 0
        var isInString = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if isInString {
                if byte == UInt8(ascii: "\\") { index += 1 }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return index }
                    depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                    if depth == 0 { return index }
                default: break
                }
            }
            index += 1
        }
        return bytes.count
    }

    private static func skipSpace(_ rest: inout ArraySlice<UInt8>) {
        while let byte = rest.first, byte == 0x20 || (0x09...0x0D).contains(byte) { rest.removeFirst() }
    }
}
#endif
