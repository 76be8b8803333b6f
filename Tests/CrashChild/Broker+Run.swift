import Sluice

extension Broker {
    /// Runs while `body` is at work, and stops behind that.
    func run(while body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            do {
                try await body()
            } catch {
                await stop()
                throw error
            }
            await stop()
            try await group.waitForAll()
        }
    }
}
