/// The head of a queue, as far as it takes to decide whether it may run.
package struct Head: Sendable, Hashable {
    package let queue: QueueName
    package let action: ActionID
    package let kind: String
    /// It ran when its process died.
    package let isSuspect: Bool
    /// Deaths of a process while it ran alone.
    package let crashes: Int
    /// What speaks against a suspect: see ``CrashTrial``.
    package let suspicion: Int
    /// Its time is over.
    package let isExpired: Bool
}

extension Head {
    /// What is to be known of a suspect; `nil` where it is none.
    func suspect(in queue: QueueID) -> CrashSuspect? {
        isSuspect ? CrashSuspect(queue: queue, level: suspicion, crashes: crashes) : nil
    }
}
