/// Why a queue does not move, as the column `blocked_by` stores it.
///
/// A damaged file may hold another word: it reads as ``failed``, so that the queue stays parked.
enum BlockReason: String, Sendable {
    // A failure policy has parked the queue: the causes of ``FailureCause`` but `undecodable`.
    case failed, exhausted, expired, crashed
    /// The actions of the queue are being made dead letters after one has failed.
    case failing
    case undecodable
    case unknownKind = "unknown kind"
    case noRoute = "no route"
    /// Its head's route waits for a gate, whose name is stored as the error.
    case gate

    init(stored word: String) { self = BlockReason(rawValue: word) ?? .failed }

    init(_ cause: FailureCause) {
        switch cause {
        // The last two make dead letters and park nothing.
        case .failed, .behind, .skipped: self = .failed
        case .exhausted: self = .exhausted
        case .expired: self = .expired
        case .undecodable: self = .undecodable
        case .crashed: self = .crashed
        }
    }

    /// Whether it holds for one action alone: routes and gates are checked again at each claim.
    var isOfHead: Bool { isOfRoute || self == .gate }
    var isOfRoute: Bool { self == .unknownKind || self == .noRoute }
}
