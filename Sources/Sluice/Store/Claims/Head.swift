/// The head of a queue, with the facts that decide whether it may run.
package struct Head: Sendable, Hashable {
    package let queue: QueueName
    package let action: ActionID
    package let kind: String
    /// Whether it ran when its process died.
    package let isSuspect: Bool
    /// Deaths of a process while it ran alone.
    package let crashes: Int
    /// Its suspicion: see ``CrashTrial``.
    package let suspicion: Int
    package let isExpired: Bool
}

extension Head {
    /// Returns the head as a suspect; `nil` if it is none.
    func suspect(in queue: QueueID) -> CrashSuspect? {
        isSuspect ? CrashSuspect(queue: queue, level: suspicion, crashes: crashes) : nil
    }
}
