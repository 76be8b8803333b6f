/// How much a queue needs a person: lists show the smallest first.
public enum QueueTrouble: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// It is parked, undecodable, of an unknown kind, without a route, or the file refuses its action.
    case needsPerson
    /// It waits for a hold, a gate or a retry.
    case waits
    /// No broker runs it.
    case stopped
    /// It runs or could run.
    case moves
    /// All its actions are scheduled for later.
    case scheduled
    /// It has no actions.
    case empty

    /// Compares how much a person is needed.
    public static func < (left: QueueTrouble, right: QueueTrouble) -> Bool { left.rawValue < right.rawValue }
}

extension QueueStatus {
    /// How much the queue needs a person.
    public var trouble: QueueTrouble {
        if because.contains(where: { $0.kind == WaitReason.refusedKind }) { return .needsPerson }
        return switch state {
        case .parked, .undecodable, .unknownKind, .noRoute: .needsPerson
        case .held, .gate, .retry: .waits
        case .stopped: .stopped
        case .running, .ready: .moves
        case .scheduled: .scheduled
        case .empty: .empty
        }
    }

    /// Returns whether a reason is of a kind or contains a text, or whether the last error does.
    ///
    /// - Parameter words: A state, `permit`, `locked`, `refused`, `blocked` or `owned`, or any text; upper
    ///   and lower case are the same.
    public func isBecause(of words: String) -> Bool {
        let words = words.lowercased()
        // It is asked of each queue of a long list.
        let kind = words.utf8.contains(UInt8(ascii: "-")) ? words.replacing("-", with: " ") : words
        return because.contains { $0.kind == kind || $0.description.lowercased().contains(words) }
            || lastError?.lowercased().contains(words) == true
    }
}

extension WaitReason {
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
