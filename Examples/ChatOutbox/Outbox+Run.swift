#if GRDB
import Sluice
import SluiceObservation

extension Outbox {
    /// Sends what waits and what comes, until its task is cancelled.
    func run(_ server: some ChatServer) async throws {
        try addRoutes(server)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await broker.run() }
            group.addTask { try await keepLoggedIn(server) }
            group.addTask {
                try await broker.keepGate("network", every: .seconds(5)) { await server.isReachable }
            }
            try await group.next()
            group.cancelAll()
        }
    }
}
#endif
