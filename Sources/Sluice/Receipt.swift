/// The right to settle one run of one action.
///
/// A claim number is used once in the life of a file: a receipt of an earlier run or process settles nothing.
package struct Receipt: Hashable, Sendable {
    package let action: ActionID
    package let claim: Int64
    package let queue: QueueID
    package let slot: Int

    package init(action: ActionID, claim: Int64, queue: QueueID, slot: Int) {
        (self.action, self.claim, self.queue, self.slot) = (action, claim, queue, slot)
    }
}

/// The number of a queue's name in the file; it never changes.
package struct QueueID: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static func < (left: QueueID, right: QueueID) -> Bool { left.rawValue < right.rawValue }
}
