#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// Processes on one file or server that enqueue real conversations and run them, and are killed and stopped.
///
/// They take their time as applications would: this is a load, not a test that waits.
struct Workers {
    let site: any HistorySite
    let count: Int
    let seconds: Int
    let seed: UInt64
    /// How many lines are enqueued.
    let lines: Int
    /// Whether they are killed and stopped.
    var isDisturbed = true
    var environment: Environment = .inherit

    /// How long a worker has stood still at least when another takes over from it: its lease of three
    /// seconds, less the second between two renewals.
    static let takeover: Int64 = 2_000_000_000

    /// What was done to the processes.
    private struct Disturbances: Sendable {
        var kills: [History.Process: Int64] = [:]
        var freezes: [History.Freeze] = []
        var cuts: [History.Freeze] = []
        var outages: [History.Freeze] = []

        mutating func add(_ others: Disturbances) {
            kills.merge(others.kills) { first, _ in first }
            freezes += others.freezes
            cuts += others.cuts
            outages += others.outages
        }
    }

    /// The time since the machine's start, as the workers write it.
    static func now() -> Int64 {
        var time = timespec()
        #if os(Linux)
        clock_gettime(CLOCK_BOOTTIME, &time)
        #else
        clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Runs them, and one more until nothing is left to be run.
    func run() async throws -> History {
        try FileManager.default.createDirectory(atPath: site.folder, withIntermediateDirectories: true)
        try await site.prepare()
        let end = Self.now() + Int64(seconds) * 1_000_000_000
        let disturbances = try await withThrowingTaskGroup(of: Disturbances.self) { group in
            for index in 0..<count { group.addTask { try await live(index, until: end) } }
            group.addTask {
                var random = Seeded(state: seed)
                let outages = isDisturbed ? try await site.disturb(until: end, &random) : []
                return Disturbances(outages: outages)
            }
            return try await group.reduce(into: Disturbances()) { $0.add($1) }
        }
        let status = try await start("last.0", end: 0) { _ in }
        #expect(status == .exited(0), "the last worker, seed \(seed)")
        var history = try input()
        (history.kills, history.freezes) = (disturbances.kills, disturbances.freezes)
        (history.cuts, history.outages) = (disturbances.cuts, disturbances.outages)
        for name in try FileManager.default.contentsOfDirectory(atPath: site.folder).sorted() {
            try history.read(String(contentsOfFile: site.folder + "/" + name, encoding: .utf8), of: name)
        }
        (history.effects, history.messages) = (try await site.effects(), try await site.messages())
        try keep(history)
        return history
    }

    /// Copies the histories, and what was done to the processes, into the folder `SLUICE_HISTORY_KEEP`.
    private func keep(_ history: History) throws {
        guard let target = ProcessInfo.processInfo.environment["SLUICE_HISTORY_KEEP"] else { return }
        let stops = history.freezes.map { "stop\t\($0.process)\t\($0.from)\t\($0.to)\n" }
        let kills = history.kills.map { "kill\t\($0.key)\t\($0.value)\n" }
        let cuts = history.cuts.map { "cut\t\($0.process)\t\($0.from)\t\($0.to)\n" }
        let outages = history.outages.map { "outage\t\($0.from)\t\($0.to)\n" }
        let text = (stops + cuts + outages + kills).joined()
        try text.write(toFile: site.folder + "/disturbances", atomically: true, encoding: .utf8)
        try FileManager.default.copyItem(atPath: site.folder, toPath: target + "/\(seed)")
    }

    /// What the workers do by the numbers of the lines, as `HistoryWorker` has it.
    private func input() throws -> History {
        var history = History()
        for (line, message) in try RealInput.messages().prefix(lines).enumerated() {
            history.lines["conversation/\(message.conversation)", default: []].append(line)
            if line % 10 < 8 { history.linesWithEffect.insert(line) }
            if line % 4 == 1 { history.linesWithMessage.insert(line) }
            guard line % 10 == 0 || line % 10 == 6 else { continue }
            let next = line + 1_000_000
            history.lines["acknowledgement/\(message.conversation)", default: []].append(next)
            if next % 10 < 8 { history.linesWithEffect.insert(next) }
        }
        return history
    }

    /// All lives of one worker: after each kill it begins another.
    private func live(_ index: Int, until end: Int64) async throws -> Disturbances {
        var random = Seeded(state: seed &+ UInt64(index) &* 7_919)
        var all = Disturbances()
        for life in 0... {
            let name = "\(index).\(life)"
            let own = Mutex(Disturbances())
            let source = random
            let isFresh = all.freezes.isEmpty
            let status = try await start(name, end: end) { execution in
                guard isDisturbed else { return }
                var random = source
                while Self.now() < end {
                    try await Self.pass(.milliseconds(Int.random(in: 100...1_000, using: &random)))
                    guard Self.now() < end else { return }
                    switch Int.random(in: 0..<100, using: &random) {
                    case 0..<25:
                        own.withLock { $0.kills[name] = Self.now() }
                        return execution(.kill)
                    case 25..<60:
                        // So that at least one of all of them is longer than the lease.
                        let isFirst = index == 0 && own.withLock { $0.freezes.isEmpty } && isFresh
                        let freeze = try await stop(execution, name, isFirst, &random)
                        own.withLock { $0.freezes.append(freeze) }
                    case 60..<80:
                        guard let cut = try await site.cutOff(index, &random) else { break }
                        own.withLock {
                            $0.cuts.append(History.Freeze(process: name, from: cut.from, to: cut.to))
                        }
                    default: break
                    }
                }
            }
            // Another course in the next life.
            random.state &+= 0x9E37_79B9
            var ends = own.withLock { $0 }
            // A kill that came too late has cut nothing.
            if status == .exited(0) { ends.kills[name] = nil }
            all.add(ends)
            if status == .exited(0) { break }
            guard status == .signaled(SIGKILL), ends.kills[name] != nil else {
                Issue.record("worker \(name) ended by itself: \(status), seed \(seed)")
                break
            }
        }
        return all
    }

    private func stop(
        _ execution: (Signal) -> Void,
        _ name: String,
        _ isFirst: Bool,
        _ random: inout Seeded
    ) async throws -> History.Freeze {
        // Some stand still for longer than their lease.
        let isLong = isFirst || Int.random(in: 0..<10, using: &random) == 0
        let duration = Int.random(in: isLong ? 4_000...6_000 : 5...1_000, using: &random)
        let from = Self.now()
        execution(.suspend)
        try await Self.pass(.milliseconds(duration))
        let to = Self.now()
        execution(.resume)
        return History.Freeze(process: name, from: from, to: to)
    }

    private func start(
        _ name: String,
        end: Int64,
        _ body: ((Signal) -> Void) async throws -> Void
    ) async throws -> TerminationStatus {
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "HistoryWorker"))),
            arguments: [
                site.place(of: Int(name.prefix { $0 != "." })), site.folder, RealInput.path, "\(lines)", name,
                "\(count)", "\(seed)", "\(end)",
            ],
            environment: environment,
            input: .none,
            output: .discarded,
            error: .string(limit: 65_536)
        ) { execution in
            // One that has ended by itself cannot be sent anything, and its status tells of it.
            try await body { try? execution.send(signal: $0) }
        }
        if result.terminationStatus != .signaled(SIGKILL), !result.standardError.isEmpty {
            Issue.record("worker \(name) says: \(result.standardError)")
        }
        return result.terminationStatus
    }

    static func pass(_ duration: Duration) async throws {
        let clock = SystemClock()
        try await clock.sleep(untilUptime: clock.uptime + duration)
    }
}
#endif
