internal import Dispatch
internal import SluiceSQLite

/// Which of several processes runs the queues alone for a while (``PrimaryPlan``).
///
/// It stands in the process's own row, written with a commit that happens anyway, by the time since the
/// machine's start, as no jump of the wall clock moves that. The others learn of it
/// when they have the write lock next, so that no two are it at the same time. It binds nobody: a process
/// that has not learnt of it yet claims as always, and who owns a queue says the claim alone.
extension Store {
    /// For how long another process is still the primary; `nil`: none is.
    ///
    /// Where the file does not tell, which whoever writes to it next finds out, it is what the writer knows.
    package func primaryTimeLeft() async -> Duration? {
        guard let lookout else { return nil }
        return await withCheckedContinuation { continuation in
            lookout.queue.async { [runners] in
                do {
                    continuation.resume(returning: try lookout.primaryTimeLeft())
                } catch {
                    continuation.resume(returning: runners.primaryTimeLeft)
                }
            }
        }
    }
}

extension WriteTransaction {
    /// Notes until when another process is the primary.
    func takeInPrimary(among ends: [Int64]) {
        let end = ends.filter { runners.primaryTimeLeft(until: $0) != nil }.max()
        guard end != primaryEnd else { return }
        primaryEnd = end
        noteRunners(.primary)
    }

    /// Makes this process the primary with whatever is about to be committed, or renews that, if it was
    /// asked.
    ///
    /// - Returns: Whether it does.
    func becomePrimaryWithCommit() throws(SQLiteError) -> Bool {
        guard runners.takePrimaryAsked() else { return false }
        guard let epoch, !others.isEmpty, runners.primaryTimeLeft == nil || mutant("one primary"),
            let uptime = ProcessIdentity.machineUptime
        else { return false }
        try connection.cached("UPDATE sluice_runner_rows SET primary_until_boot_us = ?2 WHERE epoch = ?1")
            .bind(1, epoch).bind(2, (uptime + leases.primary).wholeMicroseconds).run()
        return true
    }
}
