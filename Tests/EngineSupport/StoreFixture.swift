import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport

@testable import Sluice

/// A store on a file and a clock of its own, with the commits that it reported.
final class StoreFixture: Sendable {
    let file: TemporaryFile
    let clock: ManualClock
    let store: Store
    let commits = EventLog<CommitReport>()

    init(
        file: TemporaryFile? = nil,
        clock: ManualClock = ManualClock(),
        isRunning: Bool = true,
        onCommit: (@Sendable (CommitReport) -> Void)? = nil,
        adjust: (inout BrokerOptions) -> Void = { _ in }
    ) async throws {
        let file = try file ?? TemporaryFile()
        var options = BrokerOptions.on(clock)
        // So few that tests with few actions have their order in the file, in memory and in between.
        options.file.writeBehind.newest = 4
        options.file.writeBehind.batch = 3
        adjust(&options)
        self.file = file
        self.clock = clock
        let commits = commits
        store = try Store(.file(file.path), options: options) { report in
            commits.append(report)
            onCommit?(report)
        }
        if isRunning { try await store.startRunning() }
    }

    /// A store that stands for a process beside others on the same file.
    ///
    /// Nobody can tell that process dead, before ``killRunner(_:)``: its lease ends by the clock of all.
    static func process(
        _ pid: Int64,
        on file: TemporaryFile,
        clock: ManualClock,
        isRunning: Bool = true,
        adjust: (inout BrokerOptions) -> Void = { _ in }
    ) async throws -> StoreFixture {
        try await StoreFixture(
            file: file,
            clock: clock,
            isRunning: isRunning,
            adjust: { options in
                options.standFor(process: pid)
                adjust(&options)
            }
        )
    }

    deinit {
        // The file goes behind the store: its inode may be that of another test's file at once, and must not
        // be counted as open then.
        Task { [file, store] in
            await store.close()
            withExtendedLifetime(file) {}
        }
    }

    /// The file after a kill and a new start.
    ///
    /// Claims and the right to run the queues stay in it, and the process that had them is dead.
    func reopened(isRunning: Bool = true) async throws -> StoreFixture {
        await store.close()
        try killRunner()
        return try await StoreFixture(file: file, clock: clock, isRunning: isRunning)
    }

    /// Makes the processes that run the queues those of an earlier start of the machine.
    func killRunner(_ pid: Int? = nil) throws {
        try execute(
            """
            UPDATE sluice_runner_rows SET process = 'another start-of-the ' || 'machine'
            WHERE pid = \(pid.map(String.init) ?? "pid")
            """
        )
    }
}

// MARK: - SQL by another connection

extension StoreFixture {
    func connect() throws -> Connection {
        let connection = try Connection(path: file.path, mode: .write)
        connection.setBusyTimeout(patience)
        return connection
    }

    func execute(_ sql: String) throws {
        try connect().execute(sql)
    }

    /// The first column of each row, as text.
    func rows(_ sql: String) throws -> [String] {
        try connect().prepare(sql).all { $0.optionalText(0) ?? "NULL" }
    }

    func row(_ sql: String) throws -> String {
        try rows(sql).first ?? "nothing"
    }
}

// MARK: - Enqueuing and running

/// An answer that a test cannot go on with.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
}

extension ActionDraft {
    /// An action whose payload is a JSON text.
    init(
        _ text: String,
        in queue: QueueName = "q",
        kind: String = "note",
        by sortKey: SortKey = .arrival,
        notBefore: Timestamp? = nil,
        depthLimit: Int? = nil,
        extras: DraftExtras? = nil
    ) {
        self.init(
            queue: queue,
            kind: kind,
            sortKey: sortKey,
            payload: "\"\(text)\"",
            notBefore: notBefore,
            depthLimit: depthLimit,
            extras: extras
        )
    }
}

extension Attempt {
    /// An attempt of no broker's.
    init(_ action: ClaimedAction, of store: Store) {
        self.init(action, of: FileAttemptOrigin(store, BrokerReference()))
    }
}

extension ClaimedAction {
    /// The payload of ``ActionDraft/init(_:in:kind:by:notBefore:depthLimit:extras:)`` without its quotes.
    var text: String { String(payload.dropFirst().dropLast()) }

    var idempotencyKey: String { Attempt(self).idempotencyKey }
}

extension Store {
    @discardableResult
    func add(
        _ text: String,
        in queue: QueueName = "q",
        by sortKey: SortKey = .arrival,
        notBefore: Timestamp? = nil
    ) async throws -> ActionID {
        try await enqueue([ActionDraft(text, in: queue, by: sortKey, notBefore: notBefore)])[0]
    }

    @discardableResult
    func add(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        try await enqueue(drafts)
    }

    /// Queues with work, in the order of their names, as a status is made of them.
    func queueFacts(_ form: QueuePattern.Form = .prefix([])) async throws -> [QueueFacts] {
        let found = Mutex<[QueueFacts]>([])
        try await queueFacts(form, page: 1_000) { _, page in
            found.withLock { $0 += page }
            return true
        }
        return found.withLock { $0 }
    }

    func queueID(_ name: QueueName) async throws -> QueueID {
        let entry = try await write(sync: .later) { try $0.core.knownQueue(named: name) }
        guard let entry else { throw Unexpected(description: "no queue '\(name)'") }
        return entry.id
    }

    func claim(
        _ name: QueueName = "q",
        waitedFor: RetryWait? = nil,
        trial: TrialRule? = nil,
        by admission: Admission = Admission()
    ) async throws -> ClaimResult {
        let queue = try await queueID(name)
        // A suspect is alone, unless something else is said.
        let isSuspect = try await suspects().contains { $0.queue == queue }
        func request(_ trial: TrialRule) -> ClaimRequest {
            ClaimRequest(queue: queue, waitedFor: waitedFor, trial: trial)
        }
        let result = try await claim(request(trial ?? (isSuspect ? .tries(size: 1) : .none)), by: admission)
        guard trial == nil, isSuspect, case .unfinished = result else { return result }
        // Another head may stand before the suspect: that one runs as any.
        let beside = try await claim(request(.waits), by: admission)
        if case .awaitsTrial = beside { return result }
        return beside
    }

    func claim(_ request: ClaimRequest, by admission: Admission) async throws -> ClaimResult {
        try await withCheckedThrowingContinuation { continuation in
            claim([request], by: admission) { continuation.resume(with: $0.map { $0[0] }) }
        }
    }

    /// The head of a queue, claimed.
    func take(_ name: QueueName = "q", waitedFor: RetryWait? = nil) async throws -> ClaimedAction {
        let result = try await finishedClaim(name, waitedFor: waitedFor)
        guard case .claimed(let action) = result else { throw Unexpected(description: "\(result)") }
        return action
    }

    /// What a claim comes to, asked again behind many places of actions that are gone.
    func finishedClaim(_ name: QueueName = "q", waitedFor: RetryWait? = nil) async throws -> ClaimResult {
        while true {
            let result = try await claim(name, waitedFor: waitedFor)
            if result.word != "unfinished" { return result }
        }
    }

    @discardableResult
    func settle(
        _ action: ClaimedAction,
        _ settlement: Settlement,
        then next: ClaimRequest? = nil
    ) async throws -> (result: SettleResult, next: ClaimResult?) {
        let answer = try await withCheckedThrowingContinuation { continuation in
            settle(action.receipt, settlement, thenClaim: next, by: Admission()) {
                continuation.resume(with: $0)
            }
        }
        return (answer.result, answer.claim)
    }

    /// Runs a queue until nothing is left in its order, with success each time.
    func drain(_ name: QueueName = "q") async throws -> [String] {
        var texts: [String] = []
        while true {
            switch try await claim(name) {
            case .claimed(let action):
                texts.append(action.text)
                try await settle(action, .success)
            case .empty: return texts
            case .unfinished: continue
            case let other: throw Unexpected(description: "\(other)")
            }
        }
    }
}

extension ClaimResult {
    /// The name of the case.
    var word: String { String("\(self)".prefix { $0 != "(" }) }
}

/// The code of the error that a body throws, if it throws one of ours.
func refusal<Output>(_ body: () async throws -> Output) async -> SluiceError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? SluiceError)?.code
    }
}

extension Admission {
    /// No route.
    static let none = Admission(routes: PatternTable(), queues: QueueTable())
    /// A route for another kind.
    static let forOthers = Admission(kind: "another kind")
    /// A route whose handlers all run.
    static let full = Admission(concurrency: 0)
}

extension QueueTable {
    /// Rules that hold for all queues.
    init(_ rules: QueueRules) throws {
        self.init()
        try add("*", QueueOptions(discipline: rules.discipline, start: rules.start))
    }
}

extension Store {
    /// Runs the head of the queue `q` with success.
    func drainOne() async throws -> String {
        let action = try await take()
        try await settle(action, .success)
        return action.text
    }
}
