#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension PayloadCoder {
    /// Returns an action's payload as it is stored.
    func stored<A: Action>(_ action: A) throws(SluiceError) -> String {
        try seal(encode(action), SealingContext(kind: A.kind, version: A.version))
    }

    /// Returns JSON text as it is stored.
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
