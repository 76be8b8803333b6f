/// A change of a queue or of one of its actions by another process or program.
package struct ForeignChange: Sendable, Hashable {
    /// The column `change` of `sluice_changes`; its CHECK admits no other word.
    package enum Kind: String, Sendable {
        // Of a queue or of one of its actions.
        case wake, insert, update, delete, cancel
        // Of no queue.
        case hold, gate
        /// Processes have begun or ended to run the queues.
        case runner
        /// Another process has left work: look for it.
        case look
    }

    package let queue: QueueID
    package let action: ActionID?
    package let kind: Kind

    package init(_ kind: Kind, of action: ActionID?, in queue: QueueID) {
        (self.kind, self.action, self.queue) = (kind, action, queue)
    }

    /// Whether the handler of the action must end, if it runs.
    package var endsRun: Bool { kind == .delete || kind == .cancel }
}
