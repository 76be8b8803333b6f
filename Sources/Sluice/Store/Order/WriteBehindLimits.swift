/// Limits for writing the order of waiting actions to disk.
package struct WriteBehindLimits: Sendable, Hashable {
    /// The number of actions without a place on disk from which the oldest get theirs.
    ///
    /// It bounds memory, at some 2 MB, and the time of a start. The triggers of
    /// `Migrations/0003_triggers.sql` wait for twice as many.
    package var newest = 65_536
    /// Places written or deleted in one transaction, which takes some 50 ms: it bounds how long others wait.
    package var batch = 16_384
    package init() {}
}
