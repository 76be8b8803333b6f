/// Why a payload does not decode, without its values.
package struct Undecodable: Error {
    let reason: String

    init(reason: String) { self.reason = reason }

    init(_ kind: String, _ error: DecodingError) {
        let (what, context): (String, DecodingError.Context) =
            switch error {
            case .typeMismatch(let type, let context): ("it is not a \(type)", context)
            case .valueNotFound(let type, let context): ("there is no \(type)", context)
            case .keyNotFound(let key, let context): ("the key '\(Self.name(key))' is missing", context)
            case .dataCorrupted(let context): (Self.fault(context), context)
            @unknown default: ("it does not fit", .init(codingPath: [], debugDescription: ""))
            }
        let path = context.codingPath.map(Self.name).joined(separator: ".")
        reason = "the payload does not decode as '\(kind)': \(path.isEmpty ? "" : "at '\(path)' ")\(what)"
    }

    /// Describes the fault of a value, such as an invalid case, without the value, as Swift's text has it.
    private static func fault(_ context: DecodingError.Context) -> String {
        let words = context.debugDescription.split(separator: " ")
        guard words.count > 5, words.starts(with: ["Cannot", "initialize"]),
            words[3...4] == ["from", "invalid"]
        else { return "it is malformed" }
        return "it is none of the cases of \(words[2])"
    }

    /// Returns a key as the code spells it; keys of a dictionary are part of the payload and not named.
    private static func name(_ key: any CodingKey) -> String {
        if let index = key.intValue { return String(index) }
        return Mirror(reflecting: key).displayStyle == .enum ? key.stringValue : "*"
    }
}

extension Result where Failure == Undecodable {
    static func undecodable(_ reason: String) -> Self { .failure(Undecodable(reason: reason)) }
}
