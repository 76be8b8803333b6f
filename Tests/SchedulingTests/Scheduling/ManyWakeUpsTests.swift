import Dispatch
import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

#if os(Linux) || canImport(Darwin)
/// One commit after the other, each of which must start a handler, on a clock that stands still: so nothing
/// is found by polling.
///
/// `SLUICE_WAKE_UPS=100000` makes as many, and tells the times; `make test-wake-ups` does it
/// alone on the machine. Without it the number is small, and no time is judged: other tests run beside these.
@Suite("Many wake-ups", .serialized, .watched(minutes: 60))
struct ManyWakeUpsTests {
    enum Source: String, CaseIterable {
        /// Another process: the `sqlite3` shell.
        case process
        /// Another connection in this process.
        case connection
        /// The broker's own API.
        case own

        fileprivate var count: Int {
            switch self {
            case .process: ManyWakeUpsTests.measured ?? 1_000
            case .connection, .own: 500
            }
        }
    }

    /// How many are asked for, to be measured.
    fileprivate static let measured = ProcessInfo.processInfo.environment["SLUICE_WAKE_UPS"].flatMap {
        Int($0)
    }

    /// An action that says which commit brought it.
    private struct Tick: Action {
        static let kind = "tick"
        var number: Int
        var queue: QueueName { "ticks" }
    }

    private static var now: Duration { .nanoseconds(DispatchTime.now().uptimeNanoseconds) }

    private static func insert(_ number: Int) -> String {
        "INSERT INTO sluice_actions (queue, kind, payload) "
            + "VALUES ('ticks', 'tick', '{\"number\":\(number)}');"
    }

    @Test(
        "G11: each of many commits starts its handler, and none of them is left to the poll",
        arguments: Source.allCases
    )
    func answers(_ source: Source) async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.foreignChangeInterval = .seconds(1) }
        let path = try #require(site.file).path
        let starts = Mailbox<(number: Int, time: Duration)>()
        try broker.route("*", Tick.self) { tick, _ in
            starts.put((tick.number, Self.now))
            return .success
        }
        let record = try await running(broker) {
            switch source {
            case .process:
                try await OpenShell.with(path) { shell in
                    if Self.measured != nil { try await reportRoundTrips(shell) }
                    return try await rounds(source, site, broker, starts) {
                        try await shell.run(Self.insert($0))
                    }
                }
            case .connection:
                try await SharedConnection.open(path) { connection in
                    try await rounds(source, site, broker, starts) {
                        try connection.execute(Self.insert($0))
                    }
                }
            case .own:
                try await rounds(source, site, broker, starts) {
                    try await broker.enqueue(Tick(number: $0))
                }
            }
        }
        #expect(record.latencies.count == source.count)
        // Those that only the poll has found, or nothing at all.
        #expect(record.missed == [])
        #expect(broker.statistics.succeeded == source.count)
        if Self.measured != nil { judge(record, source) }
        await broker.close()
    }

    /// Commits one action after the other, and waits for the start of each.
    private func rounds(
        _ source: Source,
        _ site: Site,
        _ broker: Broker,
        _ starts: Mailbox<(number: Int, time: Duration)>,
        commit: (Int) async throws -> Void
    ) async throws -> Record {
        var record = Record()
        let watchdog = try Watchdog(site.clock, broker.fileEngine.store)
        defer { watchdog.end() }
        for number in 0..<source.count {
            // Every second one meets a broker that still writes the outcome of the one before.
            if number.isMultiple(of: 2) { await broker.waitUntilIdle() }
            let begin = Self.now
            try await commit(number)
            let committed = Self.now
            // The commit itself may wait for a busy disk.
            watchdog.begin(number)
            let start = try await starts.take()
            watchdog.answered()
            guard start.number == number else { throw TestError("\(start.number) started, not \(number)") }
            record.latencies.append(start.time - begin)
            record.commits.append(committed - begin)
        }
        // Of others, a broker is to see only those at once whose sync is over before its last look: on a busy
        // disk a sync takes longer now and then.
        record.missed = watchdog.missed.filter { source == .own || record.commits[$0] < Self.lastLook }
        return record
    }

    private static let lastLook = WatchPlan.looks.last ?? .zero
}

// MARK: - Times

extension ManyWakeUpsTests {
    /// What many rounds have taken.
    fileprivate struct Record: Sendable {
        /// From before the commit to the start of its handler.
        var latencies: [Duration] = []
        /// What of that the commit took.
        var commits: [Duration] = []
        var missed: [Int] = []
    }

    /// Says what there was, and that each was answered within the bound of the documentation.
    private func judge(_ record: Record, _ source: Source) {
        let late = zip(record.latencies, record.commits).filter { $0 > $1 * 2 + .milliseconds(100) }
        report("\(source.rawValue): \(summary(record.latencies))")
        report("\(source.rawValue), the commits of that: \(summary(record.commits))")
        report("\(source.rawValue), over twice the commit and 100 ms: \(late.count)")
        #expect(late.isEmpty)
    }

    /// What a line to the shell and its answer take without any commit: what the machine makes of two
    /// processes.
    private func reportRoundTrips(_ shell: OpenShell) async throws {
        var times: [Duration] = []
        for _ in 0..<10_000 {
            let begin = Self.now
            try await shell.run("SELECT 1;")
            times.append(Self.now - begin)
        }
        report("a line to the shell and back: \(summary(times))")
    }

    private func summary(_ times: [Duration]) -> String {
        let sorted = times.sorted()
        func share(_ part: Double) -> String {
            let time = sorted[min(Int(Double(sorted.count) * part), sorted.count - 1)]
            return String(format: "%.2f ms", time / .milliseconds(1))
        }
        let parts = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
        return "\(sorted.count), " + parts.map { "\($0) \(share($1))" }.joined(separator: ", ")
    }

    private func report(_ line: String) { Reliability.report("wake-ups", line) }
}

/// Lets the broker poll when a commit has not been noticed for so long that it will not be.
///
/// It goes by the time of the system and acts only where something is broken: the test fails then, and ends.
/// What the broker has taken in was noticed, however long the machine keeps its handler waiting.
private final class Watchdog: Sendable {
    private struct State {
        var round: (number: Int, since: DispatchTime)?
        var missed: [Int] = []
    }

    /// The clock does not move, so that a commit that nobody has noticed stays so; on a busy machine, one
    /// that was noticed may wait for a processor for more than ten seconds.
    private static let patience = 60.0

    private let state = Mutex(State())
    /// Sources are thread-safe; their protocol does not say so.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    init(_ clock: ManualClock, _ store: Store) throws {
        let lookout = try #require(store.lookout)
        timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.setEventHandler { [weak self] in
            guard let self, isOverdue() else { return }
            guard (try? lookout.queue.sync(execute: { try lookout.hasForeignChanges() })) == true else {
                return
            }
            note()
            clock.advance(by: .seconds(1))
        }
        timer.activate()
    }

    private func isOverdue() -> Bool {
        state.withLock { state in
            guard let round = state.round else { return false }
            return .now() > round.since + Self.patience
        }
    }

    private func note() {
        state.withLock { state in
            guard let round = state.round, state.missed.last != round.number else { return }
            state.missed.append(round.number)
        }
    }

    func begin(_ number: Int) { state.withLock { $0.round = (number, .now()) } }

    func answered() { state.withLock { $0.round = nil } }

    var missed: [Int] { state.withLock { $0.missed } }

    func end() { timer.cancel() }
}

/// A connection of the application's own; one task at a time uses it.
private final class SharedConnection: Sendable {
    /// Used by one test after the other's step, never at once.
    private nonisolated(unsafe) let connection: Connection

    private init(_ connection: Connection) { self.connection = connection }

    static func open<Output>(
        _ path: String,
        _ body: (SharedConnection) async throws -> Output
    ) async throws -> Output {
        let connection = try Connection(path: path, mode: .write)
        connection.setBusyTimeout(patience)
        defer { connection.close() }
        return try await body(SharedConnection(connection))
    }

    func execute(_ sql: String) throws { try connection.execute(sql) }
}
#endif
