import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

extension StateUpdate<QueueStatus> {
    /// The queues with their depths and states.
    fileprivate var line: String {
        let parts = states.map { "\($0.queue) \($0.depth) \($0.state)" } + gone.map { "gone \($0.queue)" }
        return (isSnapshot ? "snapshot: " : "") + parts.joined(separator: ", ")
    }
}

/// Statuses that remember what they were asked to read, and fail once.
private struct RecordingSource: StateSource {
    typealias State = QueueStatus

    let base: StatusSource
    /// The number of the read that fails.
    var failing = 0
    /// A read takes this long.
    var cost: (clock: ManualClock, time: Duration)?
    let reads = EventLog<DirtyStates>()

    func note(_ event: QueueEvent, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        base.note(event, known, isReading: isReading, in: &dirty)
    }

    func note(_ queue: QueueID, _ known: Known, isReading: Bool, in dirty: inout DirtyStates) {
        base.note(queue, known, isReading: isReading, in: &dirty)
    }

    func read(
        _ dirty: DirtyStates,
        _ known: Known
    ) async throws(SluiceError) -> (matching: [QueueStatus], gone: [QueueStatus]) {
        reads.append(dirty)
        if let cost { cost.clock.advance(by: cost.time) }
        if reads.elements.count == failing { throw SluiceError(.databaseLocked, "the test has the lock") }
        return try await base.read(dirty, known)
    }
}

/// Statuses of many queues as they change: a snapshot, then differences.
@Suite("Observed statuses", .watched)
struct StatusObservationTests {
    @Test("A snapshot of the queues with work, then those that change, become empty or have work again")
    func differences() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.enqueue([Note("a", in: "chat/1"), Note("b", in: "chat/2"), Note("c", in: "mail")])
        var updates = broker.observe(statuses: "chat/*").makeAsyncIterator()
        try await #expect(updates.next()?.line == "snapshot: chat/1 1 stopped, chat/2 1 stopped")
        try await broker.enqueue(Note("d", in: "chat/2"))
        try await broker.enqueue(Note("e", in: "mail"))
        try await #expect(updates.next()?.line == "chat/2 2 stopped")
        // The age alone is no change.
        site.clock.advance(by: .seconds(1))
        try await broker.hold("chat/1", by: "ops")
        try await #expect(updates.next()?.line == "chat/1 1 held")
        try await broker.cancel(queues: "chat/1")
        let update = try await updates.next()
        #expect(update?.line == "gone chat/1")
        #expect(update?.gone.map(\.state) == [.empty])
        try await broker.move(ActionID(rawValue: 3), to: "chat/3")
        try await #expect(updates.next()?.line == "chat/3 1 stopped")
        try await broker.cancel(queues: "chat/2")
        var later = broker.observe(statuses: "chat/*", after: update?.position).makeAsyncIterator()
        try await #expect(later.next()?.line == "chat/3 1 stopped, gone chat/2")
        await broker.close()
        try await #expect(later.next()?.line == nil)
    }

    @Test("Of 10,000 queues, a change of one reads one, and its facts alone")
    func cost() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.enqueue((0..<10_000).map { Note("a", in: "q/\($0 + 10_000)") })
        let source = RecordingSource(base: StatusSource(broker.fileEngine, .prefix([])))
        let updates = broker.fileEngine.observation(of: source, after: nil)
        try await #expect(updates.next()?.states.count == 10_000)
        try await broker.enqueue([Note("b", in: "q/12345"), Note("c", in: "q/12345")])
        try await #expect(updates.next()?.line == "q/12345 3 stopped")
        let reads = source.reads.elements
        #expect(reads.map(\.isAll) == [true, false])
        #expect(reads.last?.queues == ["q/12345"] && reads.last?.queueIDs == [])
        let read = EventLog<QueueName>()
        try await broker.fileEngine.store.queueFacts(.prefix([]), among: reads.last, page: .max) { _, page in
            for facts in page { read.append(facts.name) }
            return true
        }
        #expect(read.elements == ["q/12345"])
        var both = DirtyStates()
        for name: QueueName in ["q/19999", "q/10000"] { both.add(name) }
        // It is read once, also if it is noted by its number too.
        both.add(try #require(await broker.status(of: "q/10000").queueID))
        let plan = try await broker.fileEngine.store.read { [both] connection in
            let numbers = try both.queueNumbers(in: .prefix([]), connection)?.numbers
            let sql = try QueueFacts.statement(connection, among: numbers).sql
            return try connection.prepare("EXPLAIN QUERY PLAN \(sql)").all { $0.text(3) }
        }
        #expect(plan.contains("SEARCH q USING INTEGER PRIMARY KEY (rowid=?)"), "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SEARCH q USING INDEX") }, "\(plan)")
        try await broker.fileEngine.store.queueFacts(.prefix([]), among: both, page: .max) { _, page in
            for facts in page { read.append(facts.name) }
            return true
        }
        #expect(read.elements == ["q/12345", "q/10000", "q/19999"])
        await broker.close()
    }

    @Test("After a read that has failed, the next one misses nothing")
    func failure() async throws {
        let broker = try await Site(.memory).broker()
        let source = RecordingSource(base: StatusSource(broker.fileEngine, .prefix([])), failing: 2)
        let updates = broker.fileEngine.observation(of: source, after: nil)
        try await #expect(updates.next()?.line == "snapshot: ")
        try await broker.enqueue(Note("a"))
        await #expect(throws: SluiceError.self) { try await updates.next() }
        try await #expect(updates.next()?.line == "notes 1 stopped")
        await broker.close()
        try await #expect(updates.next()?.line == nil)
    }

    @Test("A read that fails keeps the snapshot, and how actions have ended, for the next one")
    func keptByFailure() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.enqueue(Note("a"))
        let source = RecordingSource(base: StatusSource(broker.fileEngine, .prefix([])), failing: 1)
        let updates = broker.fileEngine.observation(of: source, after: nil)
        await #expect(throws: SluiceError.self) { try await updates.next() }
        try await #expect(updates.next()?.line == "snapshot: notes 1 stopped")
        var (earlier, later) = (DirtyStates(), DirtyStates())
        earlier.add(ActionID(rawValue: 1), .succeeded)
        later.add(ActionID(rawValue: 2), .removed)
        later.formUnion(earlier)
        #expect(later.actions.count == 2 && later.ends.values.contains(.succeeded) && !later.isAll)
        await broker.close()
    }

    @Test("While this broker alone runs the queues, commits by SQL cost the reads of what they change")
    func costOfOwnSQL() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.fileEngine.store.startRunning()
        let source = RecordingSource(base: StatusSource(broker.fileEngine, .prefix([])))
        let updates = broker.fileEngine.observation(of: source, after: nil)
        try await #expect(updates.next()?.line == "snapshot: ")
        _ = broker.fileEngine.store.interest.takeUntoldChange()
        for number in 1...3 {
            try site.shell(
                "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q\(number)', 'note', '1')"
            )
            try await broker.fileEngine.store.readForeignChanges()
            broker.fileEngine.observers.tellCommitOfOthers(at: .seconds(number), every: .zero)
            try await #expect(updates.next()?.states.map(\.queue.rawValue) == ["q\(number)"])
        }
        #expect(source.reads.elements.map(\.isAll) == [true, false, false, false])
        try await broker.fileEngine.store.stopRunning()
        await broker.close()
    }

    @Test("Many statuses are seldom all read, but one that an event names at once")
    func pauses() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.enqueue((0...1_000).map { Note("a", in: "chat/\($0)") })
        var source = RecordingSource(base: StatusSource(broker.fileEngine, .prefix([])))
        source.cost = (site.clock, .milliseconds(5))
        let updates = broker.fileEngine.observation(of: source, after: nil)
        try await #expect(updates.next()?.states.count == 1_001)
        try site.shell("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('by shell', 'note', '1')")
        broker.fileEngine.observers.tellCommitOfOthers(mayDiffer: true, at: .zero, every: .zero)
        try await broker.enqueue(Note("b", in: "mail"))
        try await #expect(updates.next()?.line == "mail 1 stopped")
        #expect(source.reads.elements.map(\.isAll) == [true, false])
        site.clock.advance(by: .milliseconds(500))
        try await #expect(updates.next()?.line == "by shell 1 stopped")
        #expect(source.reads.elements.map(\.isAll) == [true, false, true])
        // What this process itself says does not wait.
        try await broker.hold("mail", by: "ops")
        try await #expect(updates.next()?.line == "mail 1 held")
        await broker.close()
    }

    @Test("A change in memory of the one queue is noticed, also while its number is being read")
    func poked() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.enqueue(Note("a"))
        let empty = try await broker.observe(statuses: "other").first { _ in true }?.position.known
        let full = try await broker.observe(statuses: "notes").first { _ in true }?.position.known
        let queue = try #require(await broker.status(of: "notes").queueID)
        let other = QueueID(rawValue: queue.rawValue + 1)
        func notices(_ queue: QueueID, _ known: StatusSource.Known?, isReading: Bool) throws -> Bool {
            var dirty = DirtyStates()
            let known = try #require(known)
            StatusSource(broker.fileEngine, .exact("notes")).note(
                queue,
                known,
                isReading: isReading,
                in: &dirty
            )
            return dirty.queueIDs == [queue]
        }
        #expect(try notices(queue, full, isReading: false))
        #expect(try !notices(other, full, isReading: true))
        #expect(try notices(queue, empty, isReading: true))
        #expect(try !notices(queue, empty, isReading: false))
        await broker.close()
    }
}
