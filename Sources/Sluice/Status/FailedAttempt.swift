#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A failed attempt.
public struct FailedAttempt: Sendable, Hashable {
    /// The attempt's number, counted from 1; a requeue restarts the count.
    public let number: Int
    /// Why the action could not continue; `nil` if it was tried again.
    public let cause: FailureCause?
    /// The error; at most ``SluiceError/maximumTextByteCount`` bytes.
    public let error: String
    /// When the attempt began.
    public let startedAt: Date
    /// When the attempt ended.
    public let endedAt: Date
}
