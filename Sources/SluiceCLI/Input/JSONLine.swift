#if CommandLineTool
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A line of JSON: validated completely, with the values of the requested fields.
struct JSONLine: Decodable {
    private static let fieldsKey = CodingUserInfoKey(rawValue: "sluice.fields")

    let values: [String: JSONScalar]

    /// Reads a line.
    ///
    /// - Parameter fields: Names of fields; with none, the line may be any JSON value.
    init(_ line: String, fields: [String]) throws(Refusal) {
        let decoder = JSONDecoder()
        if let key = Self.fieldsKey { decoder.userInfo[key] = fields }
        do {
            self = try decoder.decode(Self.self, checking: line)
        } catch DecodingError.typeMismatch {
            throw Refusal("it is no JSON object")
        } catch {
            let isText = line.first { !$0.isWhitespace }?.isLetter == true
            throw Refusal(
                "it is not valid JSON" + (isText ? ": text needs quotes, as `jq -R .` adds them" : "")
            )
        }
    }

    init(from decoder: any Decoder) throws {
        let fields = Self.fieldsKey.flatMap { decoder.userInfo[$0] as? [String] } ?? []
        guard !fields.isEmpty else {
            values = [:]
            return
        }
        let container = try decoder.container(keyedBy: FieldName.self)
        values = Dictionary(
            fields.map { ($0, Self.scalar(container, FieldName(stringValue: $0))) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    subscript(field: String) -> JSONScalar { values[field] ?? .missing }

    private static func scalar(
        _ container: KeyedDecodingContainer<FieldName>,
        _ name: FieldName
    ) -> JSONScalar {
        guard container.contains(name) else { return .missing }
        if let text = try? container.decode(String.self, forKey: name) { return .text(text) }
        if let integer = try? container.decode(Int64.self, forKey: name) { return .integer(integer) }
        if let real = try? container.decode(Double.self, forKey: name) { return .real(real) }
        if (try? container.decode(Bool.self, forKey: name)) != nil { return .other("true or false") }
        if (try? container.decodeNil(forKey: name)) == true { return .other("null") }
        if (try? container.nestedUnkeyedContainer(forKey: name)) != nil { return .other("an array") }
        if (try? container.nestedContainer(keyedBy: FieldName.self, forKey: name)) != nil {
            return .other("an object")
        }
        return .other("no text that can be stored")
    }

    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) { nil }
    }
}
#endif
