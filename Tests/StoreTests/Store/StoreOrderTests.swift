import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Order inside a queue", .watched)
struct StoreOrderTests {
    /// Sort keys of one type, in the order in which they must run.
    static let orders: [[SortKey]] = [
        [.min, -1, 0, 1, 9_007_199_254_740_992, 9_007_199_254_740_993, .max].map { SortKey.integer($0) },
        [
            Date(timeIntervalSince1970: -1e13), .distantPast, Date(timeIntervalSince1970: -1.5),
            Date(timeIntervalSince1970: -0.000_001), Date(timeIntervalSince1970: 0),
            Date(timeIntervalSince1970: 0.000_001), Date(timeIntervalSince1970: 1_767_225_600),
            Date(timeIntervalSince1970: 1_767_225_600.000_001), .distantFuture,
            Date(timeIntervalSince1970: 1e13),
        ].map { SortKey.date($0) },
        [-.infinity, -1e308, -0.5, 0, .leastNonzeroMagnitude, 0.5, 1, 1e308, .infinity].map {
            SortKey.real($0)
        },
        // By bytes: upper case before lower, "e" and an accent before any "é", emoji last.
        ["", "\u{0}", "A", "Z", "a", "a\u{0}", "aa", "e\u{301}", "z", "é", "ﬀ", "😀"].map { SortKey.text($0) },
    ]

    @Test("G2: actions run by sort key, whatever the order of their arrival", arguments: orders)
    func byKey(_ keys: [SortKey]) async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        let fixture = try await StoreFixture()
        for index in keys.indices.shuffled(using: &generator) {
            try await fixture.store.add("\(index)", by: keys[index])
        }
        let order = try await fixture.store.drain()
        #expect(order == keys.indices.map { "\($0)" }, "seed \(seed)")
    }

    @Test("G2: equal sort keys run in the order of arrival, as do actions without")
    func byArrival() async throws {
        let fixture = try await StoreFixture()
        for key in [SortKey.arrival, .text("same"), .real(0)] {
            for number in 0..<20 { try await fixture.store.add("\(number)", in: "\(key.kind)", by: key) }
            // -0.0 is the same number as 0.0.
            if key.kind == .real { try await fixture.store.add("20", in: "real", by: .real(-0.0)) }
            let count = key.kind == .real ? 21 : 20
            #expect(try await fixture.store.drain("\(key.kind)") == (0..<count).map { "\($0)" })
        }
    }

    @Test("G2: an earlier arrival becomes the head; the displaced action keeps its attempts and its deadline")
    func displaced() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("late", by: .integer(2))
        try await fixture.store.settle(
            try await fixture.store.take(),
            .retry(after: .seconds(60), error: "e")
        )
        #expect(try await fixture.store.claim().word == "waiting")
        try await fixture.store.add("early", by: .integer(1))
        #expect(try await fixture.store.drainOne() == "early")
        guard case .waiting(let wait, let time) = try await fixture.store.claim() else {
            throw Unexpected(description: "the displaced action does not wait")
        }
        #expect(time == fixture.clock.uptime + .seconds(60))
        #expect(wait.action.rawValue == 1)
        fixture.clock.advance(by: .seconds(60))
        let action = try await fixture.store.take()
        #expect(action.text == "late")
        #expect(action.number == 2)
    }

    @Test("Queues are told apart by the bytes of their names")
    func names() async throws {
        let fixture = try await StoreFixture()
        let names: [QueueName] = ["é", "e\u{301}", "É", "e", "e ", " e"]
        for name in names { try await fixture.store.add(name.rawValue, in: name) }
        #expect(try fixture.row("SELECT count(*) FROM sluice_queue_rows") == "6")
        let found = try await fixture.store.queueFacts()
        #expect(Set(found.map(\.name)) == Set(names))
        #expect(try await fixture.store.queueFacts(.exact("é")).map(\.depth) == [1])
        for name in names {
            #expect(try await fixture.store.drain(name).map { Array($0.utf8) } == [Array(name.rawValue.utf8)])
        }
    }

    /// Gives a queue a name that the table does not take.
    private static func naming(_ queue: QueueName, _ value: String) -> String {
        func lettingIn(_ form: String) -> String {
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = \(form) WHERE name = 'sluice_queue_rows';
            PRAGMA writable_schema = RESET;
            """
        }
        return """
            \(lettingIn("replace(sql, 'STRICT', '/**/')"))
            UPDATE sluice_queue_rows SET name = \(value) WHERE name = '\(queue)';
            \(lettingIn("replace(sql, '/**/', 'STRICT')"))
            """
    }

    @Test("Queues are read page by page also where a name is no UTF-8, or no text", arguments: 1...5)
    func damagedNames(_ limit: Int) async throws {
        let fixture = try await StoreFixture()
        for name in ["a", "b", "c", "d"] { try await fixture.store.add(name, in: QueueName(name)) }
        // Read as U+FFFD, which is before these bytes.
        try fixture.execute("UPDATE sluice_queue_rows SET name = CAST(x'ff61' AS TEXT) WHERE name = 'b'")
        try fixture.execute("UPDATE sluice_queue_rows SET name = CAST(x'ff62' AS TEXT) WHERE name = 'c'")
        try fixture.execute(Self.naming("d", "x'61'"))
        let found = Mutex<[QueueName]>([])
        try await fixture.store.queueFacts(.prefix([]), page: limit) { _, page in
            found.withLock { found in
                found += page.map(\.name)
                return found.count <= 4
            }
        }
        #expect(found.withLock { $0 } == ["a", "\u{fffd}a", "\u{fffd}b", "a"])
    }

    @Test("All actions are observed, also those of a queue with a name that is no text")
    func damagedNameObserved() async throws {
        let fixture = try await StoreFixture()
        for name in ["a", "b"] { try await fixture.store.add(name, in: QueueName(name)) }
        try fixture.execute(Self.naming("b", "x'61'"))
        let payloads = PayloadReader(PayloadCoder(maximumByteCount: 100))
        let now = fixture.clock.now
        let found = try await fixture.store.read { connection in
            try ActionStateReader(connection: connection, now: now, living: "[]", payloads: payloads)
                .actions(QueuePattern.Form.prefix([]))
        }
        #expect(found.map(\.rawValue).sorted() == [1, 2])
    }

    @Test("Each action is listed once where the last queue of a page has a name that is no text")
    func damagedNameOfPage() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.store.add((0..<1_000).map { ActionDraft("a", in: "q/\(1_000 + $0)") })
        // Behind all text, and read as text before all of it.
        try fixture.execute(Self.naming("q/1000", "x'61'"))
        let found = try await fixture.store.read { connection in
            try OrderReader(connection: connection).actions(.prefix([]), limit: 3_000)
        }
        #expect(found == Array(ids.dropFirst()) + [ids[0]])
    }

    @Test(
        "G2: a sort key of another type is refused, until the queue is empty",
        arguments: SortKey.Kind.allSingle + [.composite(.date, .text)]
    )
    func types(_ kind: SortKey.Kind) async throws {
        let fixture = try await StoreFixture()
        let keys: [SortKey] = [
            .arrival, .integer(1), .date(Date(timeIntervalSince1970: 1)), .real(1), .text("1"),
            .composite(.date(Date(timeIntervalSince1970: 1)), .text("1")),
        ]
        let own = try #require(keys.first { $0.kind == kind })
        try await fixture.store.add("first", by: own)
        for key in keys where key.kind != kind {
            #expect(await refusal { try await fixture.store.add("other", by: key) } == .sortKeyMismatch)
        }
        try await fixture.store.add("second", by: own)
        #expect(try await fixture.store.drain() == ["first", "second"])
        for key in keys where key.kind != kind {
            try await fixture.store.add("\(key.kind)", by: key)
            #expect(try await fixture.store.drain() == ["\(key.kind)"])
        }
    }

    @Test("G2: a dead letter that no longer fits its queue's type stays a dead letter")
    func requeueMismatch() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("a", by: .integer(1))
        try await fixture.store.settle(try await fixture.store.take(), .fail(.failed, .skip, error: "e"))
        try await fixture.store.add("b", by: .text("b"))
        #expect(await refusal { try await fixture.store.requeue(id) } == .sortKeyMismatch)
        #expect(try await fixture.store.deadLetters(limit: 10).map(\.id) == [id])
        #expect(try await fixture.store.drain() == ["b"])
        #expect(try await fixture.store.requeue(id))
        #expect(try await fixture.store.drain() == ["a"])
    }

    @Test("G2: a sort key that is not a number is refused by the broker")
    func notANumber() async throws {
        let broker = try await Broker.inMemory()
        for value in [Double.nan, .signalingNaN, -.nan] {
            #expect(
                await refusal { try await broker.enqueue(Note("a", order: .real(value))) }
                    == .sortKeyNotANumber
            )
        }
        #expect(try await broker.actionCount() == 0)
        await broker.close()
    }

    @Test("Actions are listed in the order in which they run, scheduled ones behind")
    func listed() async throws {
        let fixture = try await StoreFixture()
        let later = fixture.clock.now + .seconds(60)
        try await fixture.store.add("scheduled", by: .integer(0), notBefore: later)
        for key: Int64 in [3, 1, 2] { try await fixture.store.add("\(key)", by: .integer(key)) }
        let listed = try await fixture.store.actionSummaries(.prefix([]), limit: 10)
        #expect(listed.map(\.payload) == ["\"1\"", "\"2\"", "\"3\"", "\"scheduled\""])
        #expect(try await fixture.store.drain() == ["1", "2", "3"])
    }
}
