/// The values of a file or a schema that are reported as metrics.
package struct Measurement: Sendable, Hashable {
    package struct Kind: Sendable, Hashable {
        package let name: String
        package let depth: Int
        package let oldest: Timestamp

        package init(name: String, depth: Int, oldest: Timestamp) {
            (self.name, self.depth, self.oldest) = (name, depth, oldest)
        }
    }

    package let kinds: [Kind]
    /// The number of queues that do not move, by `blocked_by`.
    package let parked: [String: Int]
    /// The size of the WAL; `nil` in memory and on a server.
    package let walByteCount: Int?

    package init(kinds: [Kind], parked: [String: Int], walByteCount: Int?) {
        (self.kinds, self.parked, self.walByteCount) = (kinds, parked, walByteCount)
    }
}
