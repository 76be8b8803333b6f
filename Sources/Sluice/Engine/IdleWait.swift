package import Logging

/// The work that an idle broker still waits for.
package struct IdleWait: Sendable {
    /// How many of the broker's queues wait for a time, or run in another process.
    package let queueCount: Int
    /// When the first of them is due; `nil` if only another process can end the wait.
    package let delay: Duration?
    /// How long the call has waited.
    package let waited: Duration
    /// Whether the wait is worth a report; a retry within seconds is not.
    package var isLong: Bool { delay ?? waited >= .seconds(5) }

    package init?(_ left: WorkLeft, waited: Duration) {
        self.waited = waited
        guard left.next != .none || left.elsewhereCount > 0 else { return nil }
        queueCount = left.dueCount + left.elsewhereCount
        switch left.next {
        case .none: delay = nil
        case .now: delay = .zero
        case .later(let time): delay = time
        }
    }

    /// Logs a wait, once it is long; returns whether it did.
    package func noteIfLong(_ logger: Logger) -> Bool {
        guard isLong else { return false }
        var facts: Logger.Metadata = ["queues": "\(queueCount)"]
        if let delay { facts["delay"] = "\(delay)" }
        logger.notice("waiting until idle: work is left for later", metadata: facts)
        return true
    }
}
