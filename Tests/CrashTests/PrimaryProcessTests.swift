#if CommandLineTool && os(Linux)
import Foundation
import SluiceSQLite
import SluiceTestKit
import Subprocess
import Testing

/// What comes of the process that runs the queues alone when it dies or stands still.
///
/// One that gets little of the processor never becomes it: in `make test`, which sets `SLUICE_PRIMARY_ALONE`,
/// nothing else runs beside this.
@Suite(
    "The primary is killed or frozen",
    .serialized,
    .enabled(
        if: ProcessInfo.processInfo.environment["SLUICE_PRIMARY_ALONE"] != nil,
        "`make test` runs it alone, behind the others"
    ),
    .timeLimit(.minutes(3))
)
struct PrimaryProcessTests {
    enum Fate: CaseIterable {
        case killed, frozen, frozenBeyondItsLease

        /// In milliseconds: longer than this test may take, but where it has to end.
        var lease: Int { self == .frozenBeyondItsLease ? 600 : 600_000 }
    }

    private let site: WorkerSite

    init() throws { site = try WorkerSite() }

    @Test(
        "G2, G3, G6, G9: what the primary has kept from the others goes on without it",
        arguments: Fate.allCases
    )
    func goesOn(_ fate: Fate) async throws {
        let ids = try await site.enqueue(20_000, lanes: 500)
        let workers = ["a": WorkerSite.Worker(), "b": WorkerSite.Worker()]
        try await withThrowingTaskGroup(of: (String, TerminationStatus).self) { [site] group in
            for (name, worker) in workers {
                group.addTask {
                    let status = try await site.run(
                        worker,
                        name,
                        lease: fate.lease,
                        until: "idle",
                        permits: 64,
                        pause: 0
                    )
                    return (name, status)
                }
            }
            let pid = try await primary()
            if fate == .killed { try #require(kill(pid, SIGKILL) == 0) } else { try await site.freeze(pid) }
            try #require(try left(butFor: pid) > 0)
            let lost = try #require(workers.first { $0.value.process.elements.map(\.value) == [pid] }).key
            if fate != .killed {
                // Within its lease it keeps what it runs.
                try await waitUntilNothingIsLeft(butFor: fate == .frozen ? pid : nil)
                try #require(kill(pid, SIGCONT) == 0)
            }
            for try await (name, status) in group {
                #expect(status == (fate == .killed && name == lost ? .signaled(SIGKILL) : .exited(0)))
            }
            let history = try WorkLog(site.log)
            history.check(lost: fate == .frozen ? "nobody" : lost, hasDied: fate == .killed)
            #expect(history.ended == ids)
        }
        try await site.expectEmpty()
    }

    /// Waits until one of the workers runs the queues alone.
    private func primary() async throws -> pid_t {
        let connection = try Connection(path: site.file.path, mode: .read)
        defer { connection.close() }
        while true {
            try Task.checkCancellation()
            let pid = try connection.cached(
                "SELECT pid FROM sluice_runner_rows WHERE primary_until_boot_us > ?1"
            )
            .bind(1, Workers.now() / 1_000).first { $0.int(0) }
            if let pid { return pid_t(pid) }
            await Task.yield()
        }
    }

    private func waitUntilNothingIsLeft(butFor pid: pid_t?) async throws {
        while try left(butFor: pid) > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// How many actions are left, but for those in queues of which a process runs one.
    private func left(butFor pid: pid_t?) throws -> Int {
        let connection = try Connection(path: site.file.path, mode: .read)
        defer { connection.close() }
        return try connection.prepare(
            """
            SELECT count(*) FROM sluice_action_rows WHERE queue_id NOT IN (
                SELECT c.queue_id FROM sluice_claim_rows AS c
                JOIN sluice_runner_rows AS r ON r.epoch = c.claim >> 32 WHERE r.pid = ?1)
            """
        )
        .bind(1, pid.map { Int($0) } ?? 0).first { $0.int(0) } ?? 0
    }
}
#endif
