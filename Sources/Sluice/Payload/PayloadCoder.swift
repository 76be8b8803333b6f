#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Payloads between a user's type and the JSON text in the file.
///
/// A coder of our own does what is ordinary. All else it leaves to Foundation's from the start, so that
/// values, errors and their words are Foundation's.
package struct PayloadCoder: Sendable {
    // Both are configured once, here, and only read afterwards.
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()
    private let maximumByteCount: Int
    /// What seals payloads; `nil`: they are stored as they are.
    let sealing: (any PayloadSealing)?
    /// Whether payloads are read that are not sealed, where others are.
    let acceptsUnsealed: Bool

    package init(
        maximumByteCount: Int,
        sealing: (any PayloadSealing)? = nil,
        acceptsUnsealed: Bool = true
    ) {
        self.maximumByteCount = maximumByteCount
        self.sealing = sealing
        self.acceptsUnsealed = acceptsUnsealed
    }

    /// The plain payload of an action.
    package func encode<A: Action>(_ action: A) throws(SluiceError) -> String {
        if let text = JSONWriter.text(of: action) {
            try check(text.utf8.count, kind: A.kind)
            return text
        }
        let data: Data
        do {
            data = try encoder.encode(action)
        } catch {
            throw SluiceError(
                .payloadNotEncodable,
                "an action of kind '\(A.kind)' does not encode: \(type(of: error))"
            )
        }
        try check(data.count, kind: A.kind)
        let text = String(decoding: data, as: UTF8.self)
        // A decimal that is not a number is written all the same, and read by nobody.
        guard JSONGrammar.accepts(text) else {
            throw SluiceError(
                .payloadNotEncodable,
                "an action of kind '\(A.kind)' does not encode: it \(JSONGrammar.fault(of: text)); "
                    + "a Decimal that is NaN has no JSON"
            )
        }
        return text
    }

    /// Checks a payload that is JSON text already.
    func check(_ action: RawAction) throws(SluiceError) {
        try check(action.payload.utf8.count, kind: action.kind)
        guard JSONGrammar.accepts(action.payload) else {
            throw SluiceError(
                .payloadNotJSON,
                "the payload of an action of kind '\(action.kind)' \(JSONGrammar.fault(of: action.payload))"
            )
        }
    }

    private func check(_ count: Int, kind: String) throws(SluiceError) {
        guard count <= maximumByteCount else {
            throw SluiceError(
                .payloadTooLarge,
                "the payload of an action of kind '\(kind)' has \(count) bytes, more than \(maximumByteCount)"
            )
        }
    }

    /// Decodes a payload, or says why it does not decode, without saying what is in it (G13).
    package func decode<A: Action>(_ type: A.Type, from payload: String) -> Result<A, Undecodable> {
        do { return .success(try JSONTape.decode(type, from: payload)) } catch {}
        do {
            return .success(try decoder.decode(type, from: Data(payload.utf8)))
        } catch let error as DecodingError {
            return .failure(Undecodable(A.kind, error))
        } catch {
            return .failure(
                Undecodable(reason: "the payload does not decode as '\(A.kind)': \(Swift.type(of: error))")
            )
        }
    }
}

/// Why a payload does not decode, without its values.
package struct Undecodable: Error {
    let reason: String
}

extension Undecodable {
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

    /// What is wrong with a value: of an enumeration, that it is none of its cases.
    ///
    /// Swift's own words name the type, which is the program's, and the value, which is the payload's.
    private static func fault(_ context: DecodingError.Context) -> String {
        let words = context.debugDescription.split(separator: " ")
        guard words.count > 5, words.starts(with: ["Cannot", "initialize"]),
            words[3...4] == ["from", "invalid"]
        else {
            return "it is malformed"
        }
        return "it is none of the cases of \(words[2])"
    }

    /// A key as the code spells it.
    ///
    /// The keys of a dictionary are part of the payload: they are not named.
    private static func name(_ key: any CodingKey) -> String {
        if let index = key.intValue { return String(index) }
        return Mirror(reflecting: key).displayStyle == .enum ? key.stringValue : "*"
    }
}
