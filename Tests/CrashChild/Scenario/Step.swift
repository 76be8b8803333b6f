import Sluice

/// An action of the scenario, known by its number whatever became of its enqueue.
struct Step: Action {
    static let kind = "step"
    /// What an action's number and that of its follow-up differ by.
    static let followUp = 1_000

    var number: Int
    var lane: String
    var filling = ""
    var queue: QueueName { QueueName(lane) }

    /// Each third one is tried twice.
    var wantsRetry: Bool { number % 3 == 0 && number < Self.followUp }

    /// Each second one that has an effect enqueues another in the same transaction.
    var next: Step? {
        guard number % 2 == 0, lane.hasPrefix("effect/") else { return nil }
        return Step(number: number + Self.followUp, lane: "plain/0")
    }

    /// What becomes of it by its lane.
    enum Fate { case effect, plain, dead }

    static func fate(inLane lane: String) -> Fate {
        if lane.hasPrefix("plain/") { return .plain }
        return lane.hasPrefix("dead/") ? .dead : .effect
    }
}
