#if CommandLineTool
/// What befalls a request on its way: decided by chance, and by a seed, so that a show can be seen again.
struct Weather {
    enum Fate: Hashable {
        /// It arrives, and so does its answer.
        case fair
        /// The server says that it is busy.
        case refused
        /// It never arrives, and nobody ever answers.
        case requestLost
        /// It arrives, but its answer is lost: the server has the message and the sender does not know.
        case answerLost
    }

    /// Visits of one message after which it gets through for certain, so that no bad luck lasts longer than
    /// the audience.
    static let lastVisitInDoubt = 2
    /// The outage begins when the server has so many messages.
    static let outageWhenDelivered = 90
    static let outageLength: Duration = .milliseconds(1_500)

    let seed: UInt64

    /// What befalls a message at its n-th visit.
    ///
    /// It follows from the seed and the arguments alone, not from the order in which concurrent requests ask.
    func fate(of message: SendMessage.Name, visit: Int) -> Fate {
        guard visit <= Self.lastVisitInDoubt else { return .fair }
        var dice = Dice(seed: seed, mixedWith: "\(message), visit \(visit)")
        switch Int.random(in: 0..<100, using: &dice) {
        case ..<12: return .refused
        case ..<15: return .requestLost
        case ..<18: return .answerLost
        default: return .fair
        }
    }
}

/// A generator of random numbers that is determined by its seed: SplitMix64, by Steele, Lea and Flood, 2014.
struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Dice for one purpose; the text is mixed in by FNV-1a, since Swift's own hashes differ from run to run.
    init(seed: UInt64, mixedWith purpose: String) {
        state = purpose.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
#endif
