/// The name of a queue.
///
/// A queue exists as soon as an action names it. Names are compared by their UTF-8 bytes, as in SQLite: two
/// spellings of `é` that Swift's `String` treats as equal are two queues.
///
/// A name has 1 to 512 bytes of UTF-8, no NUL and no `*`, which is for patterns. It can be written as a
/// literal and is checked when it is used: enqueuing under a name outside these limits throws
/// ``SluiceError/Code/invalidQueueName``.
public struct QueueName: CheckedName {
    /// The most bytes of UTF-8 that a name can have; names are stored in an index.
    public static let maximumByteCount = 512
    /// The name as given.
    public let rawValue: String
    /// Makes a name; it is checked when it is used.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Throws if the name is outside its limits.
    func validate() throws(SluiceError) {
        let count = rawValue.utf8.count
        guard count > 0 else {
            throw SluiceError(
                .invalidQueueName,
                "a queue name is empty: give 1 to \(Self.maximumByteCount) bytes"
            )
        }
        guard count <= Self.maximumByteCount else {
            throw SluiceError(
                .invalidQueueName,
                "a queue name has \(count) bytes, more than \(Self.maximumByteCount): \(rawValue.prefix(40))…"
            )
        }
        guard !rawValue.utf8.contains(0) else {
            throw SluiceError(.invalidQueueName, "a queue name contains a NUL character")
        }
    }

    /// Throws if actions cannot be enqueued under the name.
    ///
    /// A name with `*` could not be addressed alone by calls that accept patterns. A file of an earlier
    /// version may hold such a queue: it runs, and its actions can be moved and removed.
    func validateForActions() throws(SluiceError) {
        try validate()
        guard !rawValue.utf8.contains(UInt8(ascii: "*")) else {
            throw SluiceError(
                .invalidQueueName,
                "the queue name '\(rawValue.prefix(40))' contains '*', which only patterns have: leave it out"
            )
        }
    }
}
