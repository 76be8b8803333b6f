internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Converts payloads between a user's type and the JSON text in the file.
///
/// The library's own coder handles ordinary values. It leaves all others entirely to Foundation's, so that
/// values, errors and their texts are Foundation's.
package struct PayloadCoder: Sendable {
    // Both are configured once, here, and only read afterwards.
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()
    private let dates: PayloadDates
    private let maximumByteCount: Int
    /// Seals payloads; `nil` stores plain payloads.
    let sealing: (any PayloadSealing)?
    /// Whether plain payloads are accepted when others are sealed.
    let acceptsUnsealed: Bool

    package init(
        maximumByteCount: Int,
        dates: PayloadDates = .iso8601,
        sealing: (any PayloadSealing)? = nil,
        acceptsUnsealed: Bool = true
    ) {
        self.maximumByteCount = maximumByteCount
        self.dates = dates
        if dates == .iso8601 { encoder.dateEncodingStrategy = .custom(PayloadDates.encode) }
        decoder.dateDecodingStrategy = .custom(PayloadDates.date)
        self.sealing = sealing
        self.acceptsUnsealed = acceptsUnsealed
    }

    /// Returns the plain payload of an action.
    package func encode<A: Action>(_ action: A) throws(SluiceError) -> String {
        if let text = JSONWriter.text(of: action, datesAsText: dates == .iso8601) {
            try check(text.utf8.count, kind: A.kind)
            return text
        }
        func refusal(_ reason: String) -> SluiceError {
            SluiceError(.payloadNotEncodable, "an action of kind '\(A.kind)' does not encode: \(reason)")
        }
        let data: Data
        do {
            data = try encoder.encode(action)
        } catch {
            throw refusal("\(type(of: error))")
        }
        try check(data.count, kind: A.kind)
        let text = String(decoding: data, as: UTF8.self)
        // Foundation writes a decimal that is not a number, but cannot read it.
        guard JSONGrammar.accepts(text) else {
            throw refusal("it \(JSONGrammar.fault(of: text)); a Decimal that is NaN has no JSON")
        }
        return text
    }

    /// Checks a payload that is JSON text already.
    func check(_ action: RawAction) throws(SluiceError) {
        try check(action.payload.utf8.count, kind: action.kind)
        guard JSONGrammar.accepts(action.payload) else {
            let fault = JSONGrammar.fault(of: action.payload)
            throw SluiceError(.payloadNotJSON, "the payload of an action of kind '\(action.kind)' \(fault)")
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

    /// Decodes a payload, or returns the reason of the failure without the payload (G13).
    package func decode<A: Action>(_ type: A.Type, from payload: String) -> Result<A, Undecodable> {
        do { return .success(try JSONTape.decode(type, from: payload)) } catch {}
        do {
            return .success(try decoder.decode(type, from: Data(payload.utf8)))
        } catch let error as DecodingError {
            return .failure(Undecodable(A.kind, error))
        } catch {
            return .undecodable("the payload does not decode as '\(A.kind)': \(Swift.type(of: error))")
        }
    }
}
