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

    /// Those whose effect the application's transaction writes enqueue another in it, and each second one
    /// whose effect the engine's does.
    var next: Step? {
        guard lane.hasPrefix("own/") || lane.hasPrefix("effect/") && number % 2 == 0 else { return nil }
        return Step(number: number + Self.followUp, lane: "plain/0")
    }

    /// What becomes of it by its lane.
    enum Fate { case effect, plain, dead }

    static func fate(inLane lane: String) -> Fate {
        if lane.hasPrefix("plain/") { return .plain }
        return lane.hasPrefix("dead/") ? .dead : .effect
    }
}
