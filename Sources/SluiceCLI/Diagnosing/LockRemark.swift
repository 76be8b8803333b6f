#if CommandLineTool
internal import Sluice

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Names the process that keeps others from writing.
enum LockRemark {
    /// A shorter wait needs no words.
    private static let patience: Duration = .seconds(1)

    /// Returns the process that holds the write lock of a file; `nil` if it is not known.
    static func holder(ofLockOf path: String) -> String? {
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let others = LockTable.read(indexPath: "\(real)-shm").writers.filter { $0 != Int(getpid()) }
        return others.first.map { "process \(named($0)) holds the write lock" }
    }

    /// Returns the number of a process with the name of its program.
    static func named(_ process: Int) -> String {
        LockTable.programName(of: process).map { "\(process) (\($0))" } ?? "\(process)"
    }

    /// Says who holds the write lock if a run that begins waits for it.
    ///
    /// Later the broker logs it.
    static func sayWhoDelays(_ broker: Broker) async {
        do { try await Task.sleep(for: patience) } catch { return }
        guard let health = try? await broker.file?.health() else { return }
        guard health.lockedSince != nil, !Task.isCancelled, broker.statistics.started == 0 else { return }
        let holder = health.lockHolders.first.map { "process \(named($0))" } ?? "another connection"
        Terminal.remark("\(holder) holds the write lock; waiting for it")
    }

    /// Reports an error, and if it is of a lock, who holds that.
    static func report(_ error: SluiceError) {
        Terminal.remark(error.description)
        guard error.code == .databaseLocked else { return }
        let file = Verbs.value(of: ["--file", "-f"], in: CommandLine.arguments)
        Terminal.remark(file.flatMap { holder(ofLockOf: $0) } ?? "`sluice doctor` names the process")
    }
}

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
            Terminal.remark(
                "process \(LockRemark.named(process)) holds the write lock: nothing starts and no outcome is "
                    + "written until it releases the lock"
            )
        }
        return output
    }
}
#endif
