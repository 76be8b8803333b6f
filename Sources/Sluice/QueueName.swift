/// The name of a queue.
///
/// A queue exists as soon as an action names it. A name has 1 to 512 bytes of UTF-8, no NUL and no `*`, which
/// is for patterns; others throw ``SluiceError/Code/invalidQueueName`` when they are used.
public struct QueueName: CheckedName {
    /// The most bytes of UTF-8 that a name can have; names are stored in an index.
    public static let maximumByteCount = 512
    /// The name as given.
    public let rawValue: String
    /// Makes a name; it is checked when it is used.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    package func validate() throws(SluiceError) {
        let count = rawValue.utf8.count
        let problem: String? =
            count == 0
            ? "is empty: give 1 to \(Self.maximumByteCount) bytes"
            : count > Self.maximumByteCount
                ? "has \(count) bytes, more than \(Self.maximumByteCount): \(rawValue.prefix(40))…"
                : rawValue.hasByte(0) ? "contains a NUL character" : nil
        if let problem { throw SluiceError(.invalidQueueName, "a queue name \(problem)") }
    }

    // A pattern could not address a name with `*` alone. Queues of earlier versions may have one, and run.
    package func validateForActions() throws(SluiceError) {
        try validate()
        guard !rawValue.hasByte(UInt8(ascii: "*")) else {
            throw SluiceError(
                .invalidQueueName,
                "the queue name '\(rawValue.prefix(40))' contains '*', which only patterns have: leave it out"
            )
        }
    }
}

extension QueueName: Comparable {
    /// Whether the bytes of the left name come first, as in SQL.
    public static func < (left: QueueName, right: QueueName) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
}
