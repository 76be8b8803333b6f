#if CommandLineTool
internal import Sluice

extension Broker: ToolBroker {
    var place: String { "a file" }

    func queueNames(from first: String, limit: Int) async throws -> [QueueName] {
        try await store.queueNames(from: first, limit: limit)
    }

    func deadLetterCount() async throws -> Int { try await store.deadLetterCount() }

    func keyAndGroups(of action: ActionID) async throws -> (key: String?, groups: ActionGroups) {
        try await store.keyAndGroups(of: action)
    }

    func exportPage(
        _ pattern: QueuePattern,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws -> [TransferredAction] {
        try await store.page(of: pattern.form(), after: last, limit: limit, byteLimit: byteLimit)
    }

    func movedActions(_ pattern: QueuePattern) async throws -> (first: [ActionID], last: [ActionID]) {
        try await store.movedActions(of: pattern.form())
    }

    func lockHolders() async -> [Int] { (try? await health().lockHolders) ?? [] }

    func changeMarker() async throws -> Int64 { try await store.commitMarker() }

    func newActions(since earlier: ActionID?) async throws -> Store.Arrivals {
        try await store.arrivals(since: earlier)
    }

    func runnerNames() async throws -> [String] {
        try await store.runningProcesses().filter { !$0.isDead }.map { "\($0.pid)" }
    }

    /// The file knows which routes the broker has.
    func waitUntilIdle(
        _ patterns: [QueuePattern],
        within limit: Duration?,
        telling report: (IdleWait) -> Bool
    ) async { await waitUntilIdle(telling: report) }

    func workLeft(of patterns: [QueuePattern]) async throws -> WorkLeft { try await workLeft() }
}
#endif
