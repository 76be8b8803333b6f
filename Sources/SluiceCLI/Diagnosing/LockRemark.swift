#if CommandLineTool
internal import Sluice

/// Remarks on write locks: while nothing can be written, the file is out of date.
extension Broker {
    /// Reads the file, and remarks on processes that held the write lock both before and after the read.
    ///
    /// It ignores processes that run the queues: when busy, they hold the lock most of the time.
    func lookBesideLocks<Output>(_ look: () async throws -> Output) async throws -> Output {
        guard let engine = engine as? FileEngine else { return try await look() }
        let before = try await engine.store.health().lockHolders
        let output = try await look()
        guard !before.isEmpty else { return output }
        let runners = Set(try await engine.store.runningProcesses().map { Int($0.pid) })
        let lasting = try await engine.store.health().lockHolders.filter {
            before.contains($0) && !runners.contains($0)
        }
        for process in lasting {
            let name = LockTable.programName(of: process).map { " (\($0))" } ?? ""
            Terminal.remark(
                "process \(process)\(name) holds the write lock: nothing starts and no outcome is written "
                    + "until it releases the lock"
            )
        }
        return output
    }
}
#endif
