import Testing

@testable import EngineSupport
@testable import Sluice

extension QueueRules {
    /// At once, by a discipline.
    static func by(_ discipline: QueueDiscipline) -> QueueRules { QueueRules(discipline: discipline) }
}

extension Store {
    /// What a claim by rules comes to, asked again as long as it is unfinished.
    func finishedClaim(by rules: QueueRules, _ queue: QueueName = "q") async throws -> ClaimResult {
        while true {
            let result = try await claim(by: rules, queue)
            if case .unfinished = result { continue }
            return result
        }
    }

    /// What is next by rules, claimed.
    func take(by rules: QueueRules, _ queue: QueueName = "q") async throws -> ClaimedAction {
        let result = try await finishedClaim(by: rules, queue)
        guard case .claimed(let action) = result else { throw Unexpected(description: "\(result)") }
        return action
    }

    /// Runs all that starts by rules, and tells what that was.
    func drain(by rules: QueueRules, _ queue: QueueName = "q") async throws -> [String] {
        var texts: [String] = []
        while case .claimed(let action) = try await finishedClaim(by: rules, queue) {
            texts.append(action.text)
            try await settle(action, .success)
        }
        return texts
    }
}

extension DraftExtras {
    /// Those of an action that starts a group, or is a member of one.
    static func starting(_ group: GroupName) -> DraftExtras {
        DraftExtras(groups: ActionGroups(started: [group]))
    }

    static func joining(_ group: GroupName) -> DraftExtras {
        DraftExtras(groups: ActionGroups(joined: [group]))
    }
}
