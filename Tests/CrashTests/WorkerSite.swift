#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// A file on which processes run queues beside each other (`CrashChild work`), and the log that they share.
struct WorkerSite {
    let file: TemporaryFile
    var log: String { file.path + ".log" }

    init() throws { file = try TemporaryFile() }

    func enqueue(_ count: Int, lanes: Int) async throws -> Set<Int> {
        let broker = try await Broker(file: file.path)
        let ids = try await broker.enqueue((0..<count).map { Job(lane: $0 % lanes, isPoison: false) })
        await broker.close()
        return Set(ids.map { Int($0.rawValue) })
    }

    /// What a worker has told, for the test to wait for.
    struct Worker {
        let lines = EventLog<String>()
        let process = EventLog<ProcessIdentifier>()
    }

    /// Runs a worker to its end.
    func run(
        _ worker: Worker,
        _ name: String,
        lease: Int,
        until end: String,
        permits: Int = 4,
        pause: Int = 2
    ) async throws -> TerminationStatus {
        try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["work", file.path, log, name, "\(lease)", end, "\(permits)", "\(pause)"],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            worker.process.append(execution.processIdentifier)
            for try await line in execution.standardOutput.strings() {
                worker.lines.append(line.trimmingCharacters(in: .newlines))
            }
        }.terminationStatus
    }

    func expectEmpty() async throws {
        let broker = try await Broker(file: file.path)
        try await #expect(broker.actionCount() == 0)
        try await #expect(broker.deadLetters().isEmpty)
        await broker.close()
    }

    #if os(Linux)
    /// Stops a process between two of its commits: inside of one it would keep the write lock.
    func freeze(_ pid: pid_t) async throws {
        while true {
            try suspendProcess(pid)
            let locks = LockTable.read(indexPath: file.path + "-shm")
            if !locks.writers.contains(Int(pid)) { return }
            try #require(kill(pid, SIGCONT) == 0)
            await Task.yield()
        }
    }
    #endif
}
#endif
