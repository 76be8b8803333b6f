#if GRDB
import GRDB
import Logging
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceGRDB

@Suite("Observing the queues by GRDB", .watched)
struct ObservationTests {
    @Test(
        "An observation of a queue sees it run and end, and what GRDB itself enqueues",
        arguments: Kind.allCases
    )
    func status(_ kind: Kind) async throws {
        let application = try Application(kind, clock: .farAhead)
        let broker = try await application.broker()
        let go = EventLog<Int>()
        try broker.route("*", Note.self) { _, _ in
            _ = try await go.wait(forCount: 1)
            return .success
        }
        let notifier = broker.notifier(for: application.database)
        let observation = ValueObservation.tracking { db in
            try QueueRecord.filter { $0.queue == "notes" }.fetchOne(db)?.state ?? .empty
        }
        let states = EventLog<QueueStatus.State>()
        let observing = Task {
            for try await state in observation.removeDuplicates().values(in: application.database) {
                states.append(state)
            }
        }
        #expect(try await states.wait(forCount: 1) == [.empty])
        // Before the broker runs: GRDB's own commit, of which its notice tells the observation.
        try await application.database.write { _ = try broker.enqueue(Note("a"), in: $0) }
        #expect(try await states.wait(forCount: 2).last == .stopped)
        try await running(broker) {
            try await until { states.elements.last == .running }
            go.append(1)
            try await until { states.elements.last == .empty }
        }
        observing.cancel()
        notifier.cancel()
        await broker.close()
    }

    @Test("Without a notifier the engine's commits are not seen, and no events are made")
    func unobserved() async throws {
        let application = try Application(.pool)
        let broker = try await application.broker()
        #expect(!broker.fileEngine.store.interest.isAny)
        let notifier = broker.notifier(for: application.database)
        #expect(broker.fileEngine.store.interest.isAny)
        notifier.cancel()
        #expect(!broker.fileEngine.store.interest.isAny)
        await broker.close()
    }

    @Test("A notifier for a database that GRDB only reads says that it tells nothing, and makes no events")
    func readOnly() async throws {
        let application = try Application(.pool)
        let lines = EventLog<String>()
        let broker = try await application.broker {
            $0.logger = Logger(label: "test", factory: { _ in KeepingLogHandler(lines: lines) })
        }
        var configuration = Configuration()
        configuration.readonly = true
        let reader = try DatabasePool(path: application.file.path, configuration: configuration)
        let notifier = broker.notifier(for: reader)
        #expect(lines.elements.count { $0.hasPrefix("debug a notifier is silent: ") } == 1)
        #expect(!broker.fileEngine.store.interest.isAny)
        notifier.cancel()
        await broker.close()
    }

    @Test("One notification is under way at a time, and what comes meanwhile is told by one more")
    func coalesced() {
        let pending = Mutex<[@Sendable () -> Void]>([])
        let notices = Notices { done in pending.withLock { $0.append(done) } }
        func count() -> Int { pending.withLock { $0.count } }
        for _ in 0..<100 { notices.note() }
        #expect(count() == 1)
        pending.withLock { $0[0] }()
        #expect(count() == 2)
        pending.withLock { $0[1] }()
        #expect(count() == 2)
        notices.note()
        #expect(count() == 3)
        notices.note()
        notices.note()
        pending.withLock { $0[2] }()
        #expect(count() == 4)
    }

    @Test("A transaction that enqueues much has one notice, the next one its own, and one that reads none")
    func notices() async throws {
        let application = try Application(.queue)
        let broker = try await application.broker()
        for isCommitted in [true, false, true] {
            try? await application.database.write { db in
                let given = (1...3).map { _ in CommitNotice.give(to: broker, of: db) }
                #expect(given == [true, false, false])
                if !isCommitted { throw Refusal() }
            }
        }
        try await application.database.read { db in #expect(!CommitNotice.give(to: broker, of: db)) }
        try await application.database.writeWithoutTransaction { db in
            #expect(!CommitNotice.give(to: broker, of: db))
        }
        await broker.close()
    }
}

/// A log handler that keeps every line.
private struct KeepingLogHandler: LogHandler {
    let lines: EventLog<String>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.append("\(event.level) \(event.message)") }
}

extension ManualClock {
    /// A clock whose times lie ahead of the machine's, so that the views, which ask the machine, agree.
    fileprivate static var farAhead: ManualClock { ManualClock(wallMicroseconds: 4_102_444_800_000_000) }
}
#endif
