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

    /// A server names the worker of each queue, and its lease is longer than its commands live.
    func remarkOnOwners() async {}

    func workLeft(of patterns: [QueuePattern]) async throws -> WorkLeft { try await workLeftHere(patterns) }
}
#endif
