#if Web
internal import Foundation
internal import Logging
internal import Sluice

/// Finds the acts on many that ended with their process, by what they wrote to the audit log.
///
/// A job writes when it begins, when another part is done, at least every ``signalInterval``, and when it
/// ends.
/// One that has not ended and has not written for ``silence`` has lost its process.
struct LostJobs: Sendable {
    /// How the results of a job begin in the audit log, before it ends.
    static let start = "begun, "
    static let progress = "so far "

    /// The longest time between two notes of a job that goes on.
    static let signalInterval: Duration = .seconds(5)
    /// Four missed notes: the store may have been locked.
    static let silence: TimeInterval = 20

    let page: OperatorPage

    /// How much of the audit log is read: all of it.
    private static let limit = 10_000

    /// Looks until each job of an earlier process has ended or is known to be lost.
    func find() async {
        while !Task.isCancelled {
            do {
                let entries = try await page.broker.auditEntries(limit: Self.limit)
                let open = Self.open(entries).filter { !page.jobs.has($0.job) }
                let isQuiet = { (entry: AuditEntry) in Date().timeIntervalSince(entry.time) > Self.silence }
                for (_, entry) in open where isQuiet(entry) {
                    let result = "its process has ended before it; the last that it wrote: \(entry.result)"
                    await page.audit.note(entry.act, by: Operator(name: entry.person, role: .act), result)
                }
                if open.allSatisfy({ isQuiet($0.entry) }) { return }
            } catch {
                page.options.logger.debug("Lost jobs cannot be found", metadata: ["error": "\(error)"])
            }
            do { try await page.options.clock.sleep(for: Self.signalInterval) } catch { return }
        }
    }

    /// Returns the last entries of the jobs that have not ended.
    ///
    /// - Parameter entries: The newest first.
    static func open(_ entries: [AuditEntry]) -> [(job: String, entry: AuditEntry)] {
        var known: Set<String> = []
        return entries.compactMap { entry in
            guard let job = job(of: entry), known.insert(job).inserted, isBeforeEnd(entry) else { return nil }
            return (job, entry)
        }
    }

    /// Removes all notes of a job's progress but the newest, if it has not ended.
    static func withoutOldProgress(_ entries: [AuditEntry]) -> [AuditEntry] {
        var known: Set<String> = []
        return entries.filter { entry in
            guard let job = job(of: entry) else { return true }
            return known.insert(job).inserted || !entry.result.hasPrefix(progress)
        }
    }

    private static func isBeforeEnd(_ entry: AuditEntry) -> Bool {
        entry.result.hasPrefix(start) || entry.result.hasPrefix(progress)
    }

    private static func job(of entry: AuditEntry) -> String? {
        guard let match = entry.act.prefixMatch(of: #/Job (\d+-[0-9a-f]{8}): /#) else { return nil }
        return String(match.1)
    }
}
#endif
