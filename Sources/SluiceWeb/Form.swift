#if Web
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The fields of a form or of a query, in their order; a name can occur several times.
struct Form: Sendable {
    struct Field: Sendable {
        let name: String
        let value: String
    }

    private(set) var fields: [Field] = []

    init() {}

    /// More fields are not read: a page of a list has a hundred.
    private static let limit = 10_000
    /// The end of the names of fields whose values are encoded once more.
    private static let encodedSuffix = "-encoded"

    /// Reads `application/x-www-form-urlencoded`.
    init(_ text: some StringProtocol) {
        for pair in text.split(separator: "&", maxSplits: Self.limit).prefix(Self.limit) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            var (name, value) = (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
            if name.hasSuffix(Self.encodedSuffix) {
                name.removeLast(Self.encodedSuffix.count)
                value = Self.decoded(value)
            }
            fields.append(Field(name: name, value: value))
        }
    }

    /// The attributes of a field that is sent back as it is; a browser would change line breaks.
    static func attributes(_ name: String, _ value: String) -> HTML {
        guard value.utf8.contains(where: { $0 == 10 || $0 == 13 }) else {
            return "name=\"\(exact: name)\" value=\"\(exact: value)\""
        }
        return "name=\"\(exact: name + encodedSuffix)\" value=\"\(encoded(value))\""
    }

    /// The value of a field; `nil` if there is none, or if it is empty.
    subscript(name: String) -> String? {
        fields.first { $0.name == name && !$0.value.isEmpty }?.value
    }

    /// Returns the value of a field that must have one.
    func required(_ name: String) throws(PageError) -> String {
        guard let value = self[name] else { throw PageError(.invalid, "the field \(name) is empty") }
        return value
    }

    /// All values of a field that are not empty.
    func all(_ name: String) -> [String] {
        fields.filter { $0.name == name && !$0.value.isEmpty }.map(\.value)
    }

    /// Returns it with one value for a field; `nil` removes the field.
    func setting(_ name: String, _ value: String?) -> Form {
        var form = self
        form.fields.removeAll { $0.name == name }
        if let value { form.fields.append(Field(name: name, value: value)) }
        return form
    }

    mutating func add(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// The fields as a query, without empty ones.
    var encoded: String {
        fields.filter { !$0.value.isEmpty }
            .map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
            .joined(separator: "&")
    }

    /// The fields as hidden ones of a form.
    var hiddenFields: [HTML] {
        fields.map { "<input type=\"hidden\" \(Self.attributes($0.name, $0.value))>" }
    }

    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// Bytes that are no UTF-8 become replacement characters, and `%` without two digits stays.
    private static func decoded(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
#endif
