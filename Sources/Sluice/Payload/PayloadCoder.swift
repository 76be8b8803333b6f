internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Converts payloads between a user's type and the JSON text in the file: ordinary values by the library's
/// own coder, all others entirely by Foundation's, so that values, errors and their texts are Foundation's.
package struct PayloadCoder: Sendable {
    // Both are configured once, here, and only read afterwards.
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()
    private let dates: PayloadDates
    private let maximumByteCount: Int
    let sealing: (any PayloadSealing)?
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

    package func encode<A: Action>(_ action: A) throws(SluiceError) -> String {
        if let text = JSONWriter.text(of: action, datesAsText: dates == .iso8601) {
            try check(text.utf8.count, of: "an action of kind '\(A.kind)'")
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
        try check(data.count, of: "an action of kind '\(A.kind)'")
        let text = String(decoding: data, as: UTF8.self)
        // Foundation writes a decimal that is not a number, but cannot read it.
        guard JSONGrammar.accepts(text) else {
            throw refusal("it \(JSONGrammar.fault(of: text)); a Decimal that is NaN has no JSON")
        }
        return text
    }

    func check(_ action: RawAction) throws(SluiceError) {
        try check(action.payload, of: "an action of kind '\(action.kind)'")
    }

    /// - Parameter owner: The action, in words for an error.
    func check(_ payload: String, of owner: @autoclosure () -> String) throws(SluiceError) {
        try check(payload.utf8.count, of: owner())
        guard JSONGrammar.accepts(payload) else {
            throw SluiceError(.payloadNotJSON, "the payload of \(owner()) \(JSONGrammar.fault(of: payload))")
        }
    }

    private func check(_ count: Int, of owner: @autoclosure () -> String) throws(SluiceError) {
        guard count <= maximumByteCount else {
            let sizes = "\(count) bytes, more than \(maximumByteCount)"
            throw SluiceError(.payloadTooLarge, "the payload of \(owner()) has \(sizes)")
        }
    }

    /// Decodes a payload, or returns the reason of the failure without the payload (G13).
    package func decode<A: Action>(_ type: A.Type, from payload: String) -> Result<A, Undecodable> {
        do { return .success(try JSONTape.decode(type, from: payload)) } catch {}
        do {
            return .success(try decoder.decode(type, checking: payload))
        } catch let error as DecodingError {
            return .failure(Undecodable(A.kind, error))
        } catch {
            return .undecodable("the payload does not decode as '\(A.kind)': \(Swift.type(of: error))")
        }
    }

    func stored<A: Action>(_ action: A) throws(SluiceError) -> String {
        try seal(encode(action), SealingContext(kind: A.kind, version: A.version))
    }

    func stored(_ action: RawAction) throws(SluiceError) -> String {
        try check(action)
        return try seal(action.payload, SealingContext(kind: action.kind, version: action.version))
    }

    /// Seals a payload, unless the broker seals none or it is sealed already, as in an export.
    func seal(_ payload: String, _ context: @autoclosure () -> SealingContext) throws(SluiceError) -> String {
        guard let sealing, !SealedPayload.isSealed(payload) else { return payload }
        let context = context()
        func failure(_ reason: String) -> SluiceError {
            let subject = "the payload of an action of kind '\(context.kind)'"
            return SluiceError(.payloadNotSealed, "\(subject) cannot be sealed: \(reason)")
        }
        let sealed: SealedPayload
        do {
            sealed = try sealing.seal(Data(payload.utf8), as: context)
        } catch let error as SealingFailure {
            throw failure(error == .missingKey ? "there is no key to seal with" : "\(error)")
        } catch {
            throw failure("the sealing threw \(type(of: error))")
        }
        guard SealedPayload.isValid(key: sealed.key) else {
            throw failure("the name of its key is not 1 to 255 of the characters that one may have")
        }
        return sealed.text
    }

    /// Returns the plain text of a stored payload, or the reason of the failure without the payload (G13).
    func open(_ payload: String, _ context: @autoclosure () -> SealingContext) -> Result<String, Undecodable>
    {
        guard SealedPayload.isSealed(payload) else {
            guard sealing != nil, !acceptsUnsealed else { return .success(payload) }
            return .undecodable("the payload is not sealed, and the broker accepts no other")
        }
        guard let sealed = SealedPayload(payload) else {
            return .undecodable("the payload says that it is sealed, and is not written as a sealed one")
        }
        var key: String { "'\(sealed.key)'" }
        guard let sealing else {
            let lack = "the broker has no payloadSealing"
            return .undecodable("the payload is sealed with the key \(key), and \(lack)")
        }
        do {
            let data = try sealing.open(sealed, as: context())
            guard let text = String(validating: data, as: UTF8.self) else {
                return .undecodable("what was sealed with the key \(key) is not UTF-8")
            }
            return .success(text)
        } catch SealingFailure.missingKey {
            return .undecodable("the payload is sealed with the key \(key), which is not there")
        } catch SealingFailure.notAuthentic {
            return .undecodable(
                "the payload does not open with the key \(key): it was sealed with another of that "
                    + "name or for another kind or version, or has been changed"
            )
        } catch {
            return .undecodable("opening with the key \(key) threw \(type(of: error))")
        }
    }
}
