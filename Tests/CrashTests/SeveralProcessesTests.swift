import Foundation
import SQLite
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import Testing

/// One kill and one freeze at a fixed moment, in seconds: what goes wrong here is found at each `swift test`,
/// and `ProcessHistoryTests` looks for what only a longer and random course brings.
@Suite("A kill and a freeze among several processes", .timeLimit(.minutes(3)))
struct SeveralProcessesTests {
    private let file: TemporaryFile
    private var log: String { file.path + ".log" }

    init() throws { file = try TemporaryFile() }

    private func enqueue(_ count: Int, lanes: Int) async throws -> Set<Int> {
        let broker = try await Broker(file: file.path)
        let ids = try await broker.enqueue((0..<count).map { Job(lane: $0 % lanes, isPoison: false) })
        await broker.close()
        return Set(ids.map { Int($0.rawValue) })
    }

    /// What a worker has told, for the test to wait for.
    private struct Worker {
        let lines = EventLog<String>()
        let process = EventLog<ProcessIdentifier>()
    }

    /// Runs a worker to its end.
    private func run(
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

    private func expectEmpty() async throws {
        let broker = try await Broker(file: file.path)
        try await #expect(broker.actionCount() == 0)
        try await #expect(broker.deadLetters().isEmpty)
        await broker.close()
    }

    @Test(
        "G2, G3, G7: three processes share the queues; what the killed one ran goes on, and nothing is lost"
    )
    func killed() async throws {
        let ids = try await enqueue(600, lanes: 12)
        let (victim, others) = (Worker(), [Worker(), Worker()])
        try await withThrowingTaskGroup(of: TerminationStatus.self) { group in
            group.addTask { try await run(victim, "victim", lease: 30_000, until: "stop") }
            // The others could have run everything before it begins.
            _ = try await victim.lines.wait(forCount: 1)
            for (number, other) in others.enumerated() {
                group.addTask { try await run(other, "other\(number)", lease: 30_000, until: "idle") }
            }
            _ = try await victim.lines.wait(forCount: 20)
            let pid = try await victim.process.wait(forCount: 1)[0]
            try #require(kill(pid.value, SIGKILL) == 0)
            let start = ContinuousClock.now
            var statuses: [TerminationStatus] = []
            for try await status in group { statuses.append(status) }
            #expect(Set(statuses) == [.exited(0), .signaled(SIGKILL)])
            // Its lease would have held them up for longer.
            #expect(start.duration(to: .now) < .seconds(25))
        }
        let history = try WorkLog(log)
        history.check(lost: "victim", hasDied: true)
        #expect(history.ended == ids)
        #expect(history.ran("other0") + history.ran("other1") > 0)
        try await expectEmpty()
    }

    #if os(Linux)
    @Test(
        "G3, G6: a process that is frozen beyond its lease settles nothing, and goes on when it is continued"
    )
    func frozen() async throws {
        let ids = try await enqueue(400, lanes: 8)
        let (victim, other) = (Worker(), Worker())
        async let victimStatus = run(victim, "victim", lease: 600, until: "stop")
        _ = try await victim.lines.wait(forCount: 20)
        let pid = try await victim.process.wait(forCount: 1)[0]
        try await freeze(pid.value)
        // All of it is run by another one, which begins while the lease stands.
        #expect(try await run(other, "other", lease: 30_000, until: "idle") == .exited(0))
        try await expectEmpty()
        try #require(kill(pid.value, SIGCONT) == 0)
        // It takes part again: this is for it alone.
        let broker = try await Broker(file: file.path)
        let last = try await broker.enqueue(Job(lane: 0, isPoison: true)).id
        await broker.close()
        #expect(try await victimStatus == .exited(0))

        let history = try WorkLog(log)
        history.check(lost: "victim", hasDied: false)
        #expect(history.ended == ids.union([Int(last.rawValue)]))
        let told = victim.lines.elements.last?.split(separator: " ")
        #expect(told?.first == "stale")
        // What ran when it was frozen, if anything did.
        let stale = history.abandoned(by: "victim")
        #expect(told?.last.flatMap { Int($0) } == stale)
        try await expectEmpty()
    }

    @Test(
        "G2, G3, G6, G9: what the primary has kept from the others goes on when it is killed, or is frozen",
        arguments: [SIGKILL, SIGSTOP]
    )
    func primary(_ signal: CInt) async throws {
        let ids = try await enqueue(20_000, lanes: 500)
        let workers = ["a": Worker(), "b": Worker()]
        // Of one that is killed the death is known; the lease of one that is frozen has to end.
        let lease = signal == SIGKILL ? 30_000 : 600
        try await withThrowingTaskGroup(of: (String, TerminationStatus).self) { group in
            for (name, worker) in workers {
                group.addTask {
                    (name, try await run(worker, name, lease: lease, until: "idle", permits: 64, pause: 0))
                }
            }
            let pid = try await primaryProcess()
            if signal == SIGSTOP { try await freeze(pid) } else { try #require(kill(pid, signal) == 0) }
            let start = ContinuousClock.now
            try #require(try left() > 0)
            let lost = try #require(workers.first { $0.value.process.elements.map(\.value) == [pid] }).key
            if signal == SIGSTOP {
                let first = try #require(try await group.next())
                #expect(first == (lost == "a" ? "b" : "a", .exited(0)))
                try await expectEmpty()
                try #require(kill(pid, SIGCONT) == 0)
            }
            for try await (name, status) in group {
                #expect(status == (name == lost && signal == SIGKILL ? .signaled(SIGKILL) : .exited(0)))
            }
            #expect(start.duration(to: .now) < .seconds(25))
            let history = try WorkLog(log)
            history.check(lost: lost, hasDied: signal == SIGKILL)
            #expect(history.ended == ids)
        }
        try await expectEmpty()
    }

    private func left() throws -> Int {
        let connection = try Connection(path: file.path, mode: .read)
        defer { connection.close() }
        return try connection.prepare("SELECT count(*) FROM sluice_actions").first { $0.int(0) } ?? 0
    }

    /// Waits until one of the workers runs the queues alone.
    private func primaryProcess() async throws -> pid_t {
        let connection = try Connection(path: file.path, mode: .read)
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

    /// Stops a process between two of its commits: inside of one it would keep the write lock.
    private func freeze(_ pid: pid_t) async throws {
        while true {
            try #require(kill(pid, SIGSTOP) == 0)
            let stopped = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8).contains(
                ") T "
            )
            let locks = LockTable.read(indexPath: file.path + "-shm")
            if stopped && !locks.writers.contains(Int(pid)) { return }
            try #require(kill(pid, SIGCONT) == 0)
            await Task.yield()
        }
    }
    #endif
}
