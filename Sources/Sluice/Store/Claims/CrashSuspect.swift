/// A queue whose head ran when its process died.
package struct CrashSuspect: Hashable, Sendable {
    let queue: QueueID
    /// Its suspicion: raised if its process dies while it runs as a suspect, lowered if it survives a trial.
    let level: Int
    /// Deaths of the process while it ran alone.
    let crashes: Int
}
