#if CommandLineTool && Web
internal import Foundation
internal import Sluice
internal import SluiceWeb
#if PostgreSQL
internal import SluicePostgres
#endif

/// What `sluice serve` shows of a store besides its queues.
struct ServedStore: LetterFacts {
    let served: ServedBroker
    /// `nil` for a server.
    let file: String?

    private var broker: Broker { served.current }

    func counts() async throws -> (enqueued: Int64, waiting: Int) {
        (try await broker.engine.newActions(since: nil).last.rawValue, try await broker.actionCount())
    }

    func runners() async throws -> [RunnerFact] {
        #if PostgreSQL
        if let server = broker.engine as? ServerEngine {
            return try await server.workers().map { worker in
                RunnerFact(
                    name: worker.name,
                    state: worker.leaseLeft > .zero ? "\(worker.runningCount) running" : "its lease is over",
                    isAlive: worker.leaseLeft > .zero,
                    leaseEnd: Date().addingTimeInterval(worker.leaseLeft / .seconds(1))
                )
            }
        }
        #endif
        return try await broker.fileEngine.store.runningProcesses().map { runner in
            let state =
                if let keeper = runner.keeper {
                    "has died; process \(keeper) ends its commands"
                } else {
                    runner.isDead ? "has died" : "\(runner.runningCount) running"
                }
            return RunnerFact(
                name: "process \(runner.pid)",
                state: state,
                isAlive: !runner.isDead && !runner.isLeaseOver,
                leaseEnd: runner.leaseUntil.date
            )
        }
    }

    func deadLetterCount() async throws -> Int { try await broker.engine.deadLetterCount() }

    func sizes() async throws -> [(name: String, value: String)] {
        guard let file else { return [] }
        return try [("File", file), ("WAL", "\(file)-wal")].map { name, path in
            // Without a WAL, nothing has been written since the last process closed the file.
            guard FileManager.default.fileExists(atPath: path) else { return (name, "0 B") }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            return (name, Doctor.size(attributes[.size] as? Int64 ?? 0))
        }
    }

    func findings() async throws -> [HealthFinding] {
        try await doctorFindings().map {
            HealthFinding(isProblem: $0.isProblem, text: $0.text, advice: $0.advice)
        }
    }

    private func doctorFindings() async throws -> [DoctorFinding] {
        #if PostgreSQL
        if let server = broker.engine as? ServerEngine { return DoctorFinding.all(try await server.health()) }
        #endif
        let path = file ?? ""
        // It reads the file for seconds: on a thread of its own, other pages do not wait for it.
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        let facts = try FileFacts(of: path, isFull: false)
                        return DoctorFinding.all(facts, LockHolders(facts), path: path)
                    }
                )
            }
        }
    }
}
#endif
