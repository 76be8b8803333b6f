#if CommandLineTool && PostgreSQL
internal import Sluice
internal import SluicePostgres

extension PostgresBroker: ToolBroker {
    func keyAndGroups(of action: ActionID) async throws -> (key: String?, groups: ActionGroups) {
        (try await key(of: action), ActionGroups())
    }

    func lookBesideLocks<Output>(_ look: () async throws -> Output) async throws -> Output {
        try await look()
    }

    /// Errors of locks name the server's process.
    func lockHolders() async -> [Int] { [] }

    func newActions(since earlier: ActionID?) async throws -> Store.Arrivals {
        let (last, counts) = try await arrivals(since: earlier)
        return Store.Arrivals(last: last, counts: counts)
    }

    func runnerNames() async throws -> [String] { try await livingWorkers() }

    /// The actions of a killed run wait for its lease, which is longer than its commands live.
    func remarkOnLeftovers() async {}

    func workLeft(of patterns: [QueuePattern]) async throws -> WorkLeft { try await workLeftHere(patterns) }
}
#endif
