/// What metrics tell of a file.
package struct Measurement: Sendable, Hashable {
    /// Actions of one kind.
    package struct Kind: Sendable, Hashable {
        package let name: String
        package let depth: Int
        /// When the oldest was enqueued.
        package let oldest: Timestamp
    }

    package let kinds: [Kind]
    /// Queues that do not move, by what stands in `blocked_by`.
    package let parked: [String: Int]
    /// The size of the write-ahead log; `nil` in memory.
    package let walByteCount: Int?
}
