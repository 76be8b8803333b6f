#if CommandLineTool
internal import ArgumentParser
internal import Foundation
internal import Sluice

/// The order in which queues are listed.
enum QueueOrder: String, ExpressibleByArgument, CaseIterable {
    /// Queues that need a person first, then waiting, running and scheduled ones; of each the oldest.
    case trouble
    case name
    /// The queue with the oldest action first.
    case age
    /// The queue with the most actions first.
    case depth

    /// Returns whether a queue is listed before another one; names decide between equals.
    func isBefore(_ left: QueueStatus, _ right: QueueStatus) -> Bool {
        if self == .trouble {
            if left.trouble != right.trouble { return left.trouble < right.trouble }
        }
        if self == .depth, left.depth != right.depth { return left.depth > right.depth }
        if self == .trouble || self == .age, left.oldestEnqueuedAt != right.oldestEnqueuedAt {
            return left.oldestEnqueuedAt ?? .distantFuture < right.oldestEnqueuedAt ?? .distantFuture
        }
        return left.queue.rawValue.utf8.lexicographicallyPrecedes(right.queue.rawValue.utf8)
    }
}
#endif
