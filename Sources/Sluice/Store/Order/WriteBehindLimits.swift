/// When the order of what waits is written to the file.
package struct WriteBehindLimits: Sendable, Hashable {
    /// Actions without a place in the file from which on the oldest get theirs: it bounds memory, some 2
    /// MB, and the time of a start.
    ///
    /// The triggers of `Migrations/0003_triggers.sql` wait for twice as many.
    package var newest = 65_536
    /// Places that are given or removed in one transaction, which takes some 50 ms: it bounds how long
    /// others wait.
    package var batch = 16_384

    package init() {}
}
