import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Cute: the queue as a data structure", .watched) struct CuteQueueTests {
    @Test(
        "Cute: many are added in order, looked at, counted and taken out one by one",
        arguments: QueueStorage.allCases
    )
    func addPeekCountRemove(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await #expect(jobs.peek()?.id == nil)
        try await #expect(jobs.removeNext()?.id == nil)
        let ids = try await jobs.add([Note("a"), Note("b"), Note("c")])
        try await #expect(jobs.count() == 3)
        try await #expect(jobs.peek()?.id == ids[0])
        try await #expect(jobs.peek()?.action.text == "a")
        try await #expect(jobs.take() == ["a"])
        try await #expect(jobs.count() == 2)
        try await #expect(jobs.take(0) == [])
        try await #expect(jobs.take(-1) == [])
        try await #expect(jobs.take(10) == ["b", "c"])
        try await #expect(jobs.take() == [])
        try await #expect(jobs.count() == 0)
        try await #expect(jobs.peek()?.id == nil)
        await broker.close()
    }

    @Test("Cute: nothing added is nothing stored; what is added goes to the handle's queue, whatever it says")
    func adding() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await #expect(jobs.add([Note]()) == [])
        try await #expect(broker.actionCount() == 0)
        try await jobs.add(Note("a", in: "elsewhere"))
        try await jobs.add([Note("b", in: "elsewhere")], EnqueueOptions(tag: "t"))
        try await #expect(broker.actionSummaries("jobs").map(\.id.rawValue) == [1, 2])
        try await #expect(broker.actionSummaries("elsewhere").isEmpty)
        try await #expect(jobs.removeNext(2).map(\.tag) == [nil, "t"])
        try broker.configure("small", QueueOptions(maximumDepth: 1))
        let small = broker.queue("small", of: Note.self)
        let refused = await refusal { try await small.add([Note("a"), Note("b")]) }
        #expect(refused == .queueFull)
        try await #expect(small.count() == 0)
    }

    @Test("Cute: with sort keys the next is the smallest, as for handlers", arguments: QueueStorage.allCases)
    func sortKeys(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await jobs.add([3, 1, 2].map { Note("\($0)", order: .integer($0)) })
        try await #expect(jobs.texts() == ["1", "2", "3"])
        try await #expect(jobs.take() == ["1"])
        try await jobs.add(Note("0", order: .integer(0)))
        try await #expect(jobs.peek()?.sortKey == .integer(0))
        try await #expect(jobs.take(3) == ["0", "2", "3"])
        await broker.close()
    }

    @Test("Cute: an action is cancelled by its number, one of another queue is not")
    func cancelling() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let ids = try await jobs.add([Note("a"), Note("b"), Note("c")])
        let other = try await broker.enqueue(Note("d", in: "others")).id
        try await #expect(jobs.cancel(ids[1]) == .removed)
        try await #expect(jobs.cancel(ids[1]) == .tooLate)
        try await #expect(jobs.cancel(other) == .tooLate)
        try await #expect(broker.queue("nothing", of: Note.self).cancel(other) == .tooLate)
        try await #expect(jobs.texts() == ["a", "c"])
        try await #expect(broker.actionCount() == 3)
        try await #expect(broker.settled(ids[1]) == .removed)
    }

    @Test(
        "Cute: whether it is empty or has an action is asked of those that wait",
        arguments: QueueStorage.allCases
    )
    func asking(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await #expect(jobs.isEmpty())
        let other = try await broker.enqueue(Note("d", in: "others")).id
        let end = EnqueueOptions(expiresAt: (site.clock.now + .seconds(9)).date)
        let expiring = try await jobs.add(Note("a"), end).id
        try await #expect(!jobs.isEmpty())
        try await #expect(jobs.contains(expiring))
        try await #expect(!jobs.contains(other))
        site.clock.advance(by: .seconds(9))
        try await #expect(jobs.isEmpty())
        try await #expect(!jobs.contains(expiring))
        let due = EnqueueOptions(notBefore: (site.clock.now + .seconds(9)).date)
        let scheduled = try await jobs.add(Note("b"), due).id
        try await #expect(!jobs.contains(scheduled))
        try await #expect(jobs.isEmpty())
        site.clock.advance(by: .seconds(9))
        try await #expect(jobs.contains(scheduled))
        try await #expect(!jobs.isEmpty())
        try await #expect(jobs.take() == ["b"])
        try await #expect(jobs.isEmpty())
        try await #expect(!jobs.contains(scheduled))
        await broker.close()
    }

    @Test("Cute: actions are cancelled by their tag, those of other queues are not")
    func cancellingTag() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let options = EnqueueOptions(tag: "t")
        try await jobs.add((0..<600).map { Note("\($0)") }, options)
        try await jobs.add(Note("untagged"))
        try await broker.enqueue(Note("b", in: "others"), options)
        try await #expect(broker.queue("nothing", of: Note.self).cancel(tag: "t").removed == 0)
        try await #expect(jobs.cancel(tag: "t").removed == 600)
        try await #expect(jobs.texts() == ["untagged"])
        try await #expect(broker.actions(tag: "t").map(\.details?.queue) == ["others"])
        #expect(await refusal { try await jobs.cancel(tag: "") } == .invalidOptions)
        await broker.close()
    }

    @Test("Cute: the contents are read in pages of any size, with part of the order in the file and part not")
    func contents() async throws {
        let site = try Site()
        let broker = try await site.broker {
            $0.file.writeBehind.newest = 60
            $0.file.writeBehind.batch = 25
        }
        let jobs = broker.queue("jobs", of: Note.self)
        var expected: [String] = []
        for number in 0..<130 {
            let key = Int64(number * 37 % 130)
            try await jobs.add(Note("\(key)", order: .integer(key)))
            try await broker.enqueue(Note("other", in: "other"))
            expected.append("\(number)")
        }
        for size in [1, 7, 100, 130, 1_000] { try await #expect(jobs.texts(pageSize: size) == expected) }
        try await #expect(jobs.count() == 130)
        var seen: [String] = []
        for try await item in jobs.contents(pageSize: 10) {
            // What leaves from the front and comes behind holds nobody up.
            if seen.isEmpty {
                try await #expect(jobs.take(3) == ["0", "1", "2"])
                try await jobs.add(Note("last", order: .integer(1_000)))
            }
            seen.append(item.action.text)
        }
        #expect(seen == expected + ["last"])
        try await #expect(jobs.take(1_000) == Array(expected.dropFirst(3)) + ["last"])
        await broker.close()
    }

    @Test("Cute: clearing takes out all that waits and is scheduled, and nothing of other queues")
    func clear() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await jobs.add((0..<1_203).map { Note("\($0)") })
        try await jobs.add(Note("later"), EnqueueOptions(notBefore: (site.clock.now + .seconds(60)).date))
        try await broker.enqueue(raw: [RawAction(queue: "jobs", kind: "unknown", payload: "1")])
        try await broker.enqueue(Note("other", in: "other"))
        try await #expect(jobs.clear() == 1_205)
        try await #expect(jobs.clear() == 0)
        try await #expect(jobs.count() == 0)
        try await #expect(broker.actionCount() == 1)
        try await jobs.add(Note("new"))
        try await #expect(jobs.take() == ["new"])
    }

    @Test("Cute: what is scheduled comes when it is due, though no broker runs")
    func scheduled() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let due = EnqueueOptions(notBefore: (site.clock.now + .seconds(10)).date)
        try await jobs.add(Note("first", order: .integer(1)), due)
        try await jobs.add(Note("second", order: .integer(2)))
        try await #expect(jobs.texts() == ["second"])
        try await #expect(jobs.count() == 1)
        site.clock.advance(by: .seconds(10))
        try await #expect(jobs.texts(pageSize: 1) == ["first", "second"])
        try await #expect(jobs.count() == 2)
        try await #expect(jobs.take(2) == ["first", "second"])
    }

    @Test("Cute: what has expired is not handed out: it is set aside on the way")
    func expired() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let end = EnqueueOptions(expiresAt: (site.clock.now + .seconds(10)).date)
        let id = try await jobs.add(Note("a"), end).id
        try await jobs.add(Note("b"))
        try await #expect(jobs.texts() == ["a", "b"])
        site.clock.advance(by: .seconds(10))
        try await #expect(jobs.texts() == ["b"])
        try await #expect(jobs.count() == 1)
        try await #expect(jobs.take() == ["b"])
        try await #expect(broker.deadLetter(id)?.cause == .expired)
    }

    @Test("Cute: an action of another kind, or that does not decode, is told and stays where it is")
    func undecodable() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await jobs.add(Note("a"))
        let ids = try await broker.enqueue(raw: [
            RawAction(queue: "jobs", kind: "photo", payload: #"{"text":"CANARY"}"#),
            RawAction(queue: "jobs", kind: "note", payload: #"{"text":["CANARY"]}"#),
        ])
        try await jobs.add(Note("b"))
        try await #expect(jobs.take(4) == ["a"])
        for (id, why) in zip(ids, ["it is of kind 'photo', not 'note'", "does not decode as 'note'"]) {
            let error = await #expect(throws: SluiceError.self) { try await jobs.removeNext() }
            #expect(error?.code == .undecodable)
            #expect(error?.message.contains(why) == true && error?.message.contains("CANARY") == false)
            let looked = await refusal { try await jobs.peek() }
            #expect(looked == .undecodable)
            try await #expect(jobs.cancel(id) == .removed)
        }
        try await #expect(jobs.take(4) == ["b"])
    }

    @Test("Cute: behind an action that cannot be read the contents go on")
    func contentsGoOn() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        try await jobs.add(Note("a"))
        try await broker.enqueue(raw: [RawAction(queue: "jobs", kind: "photo", payload: "1")])
        try await jobs.add(Note("b"))
        var iterator = jobs.contents(pageSize: 2).makeAsyncIterator()
        try await #expect(iterator.next()?.action.text == "a")
        let refused = await refusal { try await iterator.next() }
        #expect(refused == .undecodable)
        try await #expect(iterator.next()?.action.text == "b")
        try await #expect(iterator.next()?.id == nil)
        try await #expect(iterator.next()?.id == nil)
    }

    @Test("G1: Cute: what was taken out is gone after a restart, and what was put back is there")
    func restart() async throws {
        let site = try Site()
        let first = try await site.broker()
        let jobs = first.queue("jobs", of: Note.self)
        try await jobs.add([Note("a"), Note("b"), Note("c")])
        let taken = try await jobs.removeNext(2)
        try await jobs.putBack(taken[1])
        await first.close()

        let second = try await site.broker()
        try await #expect(second.queue("jobs", of: Note.self).texts() == ["b", "c"])
        await second.close()
    }

    @Test("G9: Cute: no statement of a handle scans the actions; a page is found by a search in the order")
    func plans() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let store = fixture.store
        try await store.add((0..<9).map { ActionDraft("\($0)") })
        let taken = try await store.takeNext(of: "q", limit: 2) { .success($0) }
        #expect(try await store.putBack(taken.outputs, to: "q") == taken.outputs.map(\.id))
        #expect(try await store.cancel(taken.outputs[0].id, in: "q") == .done)
        #expect(try await store.waiting(in: "q", from: .front, limit: 3).count == 3)
        #expect(try await store.waitingCount(in: "q") == 8)
        let last = try await store.lastActionID()
        #expect(try await store.clear("q", through: last) == 8)
        try await store.stop("q", by: "me", reason: "")
        try await store.start("q", by: "me")
        let texts =
            try await store.write(sync: .later) { $0.connection.cachedTexts }
            + store.read { $0.cachedTexts }
        let connection = try fixture.connect()
        var pages = 0
        for text in texts where !["BEGIN", "COMMIT", "PRAGMA"].contains(text.prefix { $0.isLetter }) {
            let plan = try connection.prepare("EXPLAIN QUERY PLAN \(text)").all { $0.text(3) }
            // The tables; a view's rows of one queue, found by searches, may be gone through.
            let large = ["SCAN a", "SCAN o", "SCAN sluice_action_rows", "SCAN sluice_order_rows"]
            #expect(!plan.contains { line in large.contains { line.hasPrefix($0) } }, "\(text): \(plan)")
            guard text.hasPrefix("SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o CROSS") else {
                continue
            }
            pages += 1
            #expect(
                plan.contains {
                    $0.hasPrefix("SEARCH o USING PRIMARY KEY (queue_id=? AND (sort_key,action_id)>(?,?))")
                }
            )
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        }
        #expect(pages == 1)
        await store.close()
    }

    @Test("A queued action, printed, does not show its payload (G13)")
    func description() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        try await jobs.add(Note("CANARY"))
        let item = try #require(try await jobs.peek())
        #expect("\(item)" == "action 1 (note)")
    }
}
