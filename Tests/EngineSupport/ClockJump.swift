/// What the wall clock does while something waits for a time.
enum ClockJump: String, CaseIterable, Sendable {
    case hourForward, hourBack, decadeForward, decadeBack

    var duration: Duration {
        switch self {
        case .hourForward: .seconds(3_600)
        case .hourBack: .seconds(-3_600)
        case .decadeForward: .seconds(3_653 * 86_400)
        case .decadeBack: .seconds(-3_653 * 86_400)
        }
    }

    var isForward: Bool { duration > .zero }
}
