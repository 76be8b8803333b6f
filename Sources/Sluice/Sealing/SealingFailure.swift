/// Why a sealed payload cannot be opened; the status of its queue shows it, with the name of the key.
public enum SealingFailure: Error, Sendable, Hashable {
    /// There is no key of that name.
    case missingKey
    /// It was sealed with another key of that name or in another context, or has been changed.
    case notAuthentic
}
