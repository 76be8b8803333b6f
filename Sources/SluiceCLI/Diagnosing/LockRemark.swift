#if CommandLineTool
internal import Sluice

/// Tells who keeps the write lock: what stands in the file is out of date as long as nothing can be written.
extension Broker {
    /// Looks, and remarks on processes that held the write lock before the look and behind it.
    ///
    /// But for those that run the queues, which have it most of the time when they are busy.
    func lookBesideLocks<Output>(_ look: () async throws -> Output) async throws -> Output {
        let before = try await health().lockHolders
        let output = try await look()
        guard !before.isEmpty else { return output }
        let runners = Set(try await store.runningProcesses().map { Int($0.pid) })
        let lasting = try await health().lockHolders.filter {
            before.contains($0) && !runners.contains($0)
        }
        for process in lasting {
            let name = LockTable.programName(of: process).map { " (\($0))" } ?? ""
            Terminal.remark(
                "process \(process)\(name) holds the write lock: nothing starts and no outcome is written "
                    + "before it gives it up"
            )
        }
        return output
    }
}
#endif
