#if Web
internal import Sluice

/// The order of a list of queues.
enum QueueSorting: String, CaseIterable, Sendable {
    /// Queues that need a person first, then waiting, running and scheduled ones; of each the oldest.
    case trouble
    case name
    /// The queue with the oldest action first.
    case age
    /// The queue with the most actions first.
    case depth

    /// The name for the operator.
    var name: String { self == .depth ? "number of actions" : rawValue }

    /// A place in the order; a page of a list begins after one.
    struct Place: Comparable, Sendable {
        let major: Int64
        let minor: Int64
        let name: String

        static func < (left: Place, right: Place) -> Bool {
            if left.major != right.major { return left.major < right.major }
            if left.minor != right.minor { return left.minor < right.minor }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }

        init(_ major: Int64, _ minor: Int64, _ name: String) {
            (self.major, self.minor, self.name) = (major, minor, name)
        }

        /// Reads ``text``.
        init?(_ text: String) {
            let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let major = Int64(parts[0]), let minor = Int64(parts[1]) else {
                return nil
            }
            self.init(major, minor, String(parts[2]))
        }

        /// The place in a query.
        var text: String { "\(major).\(minor).\(name)" }
    }

    func place(of lane: Board.Lane) -> Place {
        let name = lane.status.queue.rawValue
        return switch self {
        case .trouble: Place(Int64(lane.trouble.rawValue), lane.oldest, name)
        case .name: Place(0, 0, name)
        case .age: Place(0, lane.oldest, name)
        case .depth: Place(-Int64(lane.status.depth), 0, name)
        }
    }
}
#endif
