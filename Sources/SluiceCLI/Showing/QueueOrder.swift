#if CommandLineTool
internal import ArgumentParser
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
            let ranks = (left.troubleRank, right.troubleRank)
            if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
        }
        if self == .depth, left.depth != right.depth { return left.depth > right.depth }
        if self == .trouble || self == .age, left.oldestAge != right.oldestAge {
            return left.oldestAge > right.oldestAge
        }
        return left.queue.rawValue.utf8.lexicographicallyPrecedes(right.queue.rawValue.utf8)
    }
}

extension QueueStatus {
    /// The less, the more it needs a person.
    fileprivate var troubleRank: Int {
        if because.contains(where: { $0.kind == Because.refusedKind }) { return 0 }
        return switch state {
        case .parked, .undecodable, .unknownKind, .noRoute: 0
        case .held, .gate, .retry: 1
        case .stopped: 2
        case .running, .ready: 3
        case .scheduled: 4
        case .empty: 5
        }
    }

    /// Returns whether one of its reasons is of a kind or contains a text, as its last error may.
    func isBecause(of words: String) -> Bool {
        let words = words.lowercased()
        let kind = String(words.map { $0 == "-" ? " " : $0 })
        return because.contains { $0.kind == kind || $0.description.lowercased().contains(words) }
            || lastError?.lowercased().contains(words) == true
    }
}

extension Because {
    fileprivate static let refusedKind = "refused"

    /// The state of a queue that has this reason, or a word of its own.
    fileprivate var kind: String {
        switch self {
        case .permit: "permit"
        case .locked: "locked"
        case .refused: Self.refusedKind
        case .handlersBlocked: "blocked"
        case .owned: "owned"
        default: state.rawValue
        }
    }
}
#endif
