/// A queue whose head ran when its process died.
package struct CrashSuspect: Hashable, Sendable {
    let queue: QueueID
    /// What speaks against it: raised when its process dies while it runs as a suspect, lowered by a
    /// trial that it survives.
    let level: Int
    /// Deaths while it ran alone.
    let crashes: Int
}
