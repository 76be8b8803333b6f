/// The values of a file that are reported as metrics.
package struct Measurement: Sendable, Hashable {
    package struct Kind: Sendable, Hashable {
        package let name: String
        package let depth: Int
        package let oldest: Timestamp
    }

    package let kinds: [Kind]
    /// The number of queues that do not move, by `blocked_by`.
    package let parked: [String: Int]
    /// The size of the WAL; `nil` in memory.
    package let walByteCount: Int?
}
