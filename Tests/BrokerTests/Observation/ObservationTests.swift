import Dispatch
import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

extension StateUpdate<ActionState> {
    /// The numbers and phases of the actions.
    var line: String {
        let parts = states.map { "\($0.id) \($0.phase.word)" } + gone.map { "gone \($0.id) \($0.phase.word)" }
        return (isSnapshot ? "snapshot: " : "") + parts.joined(separator: ", ")
    }
}

extension ActionState.Phase {
    fileprivate var word: String {
        switch self {
        case .waiting: "waiting"
        case .scheduled: "scheduled"
        case .running: "running"
        case .retrying: "retrying"
        case .parked: "parked"
        case .dead(let cause, _): "dead \(cause.rawValue)"
        case .ended(.deadLettered(let cause)): "purged \(cause.rawValue)"
        case .ended(let end): "\(end)"
        }
    }
}

/// Actions as they change: a snapshot, then differences.
@Suite("Observed actions", .watched)
struct ObservationTests {
    @Test(
        "The first element is a snapshot; an enqueue between subscribing and reading is given once",
        arguments: QueueStorage.allCases
    )
    func snapshot(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        var updates = broker.observe(actions: .queue("notes")).makeAsyncIterator()
        try await broker.enqueue([Note("b"), Note("c")])
        try await broker.enqueue(Note("x", in: "other"))
        try await #expect(updates.next()?.line == "snapshot: 1 waiting, 2 waiting, 3 waiting")
        try await broker.enqueue(Note("d"))
        let update = try await updates.next()
        #expect(update?.line == "5 waiting")
        #expect(update?.states[0].ahead == nil && update?.states[0].because == [])
        #expect(try update?.states[0].payload(as: Note.self)?.text == "d")
        await broker.close()
        try await #expect(updates.next()?.line == nil)
    }

    @Test("G15: each phase of an action is given once, from its enqueue to its end")
    func phases() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        try broker.route("a", Note.self, RouteOptions(retry: .fixed(.seconds(30)))) { _, _ in .success }
        var updates = broker.observe(actions: .queue("a")).makeAsyncIterator()
        try await #expect(updates.next()?.line == "snapshot: ")
        test.holdAttempts()
        try await test.drain()
        let soon = test.clock.date.addingTimeInterval(60)
        let id = try await broker.enqueue(Note("1", in: "a"), notBefore: soon).id
        try await #expect(updates.next()?.line == "1 scheduled")
        test.clock.advance(by: .seconds(60))
        try await test.drain()
        try await #expect(updates.next()?.line == "1 running")
        try await test.finish(id, with: .retry)
        try await #expect(updates.next()?.line == "1 retrying")
        test.clock.advance(by: .seconds(30))
        try await test.drain()
        try await #expect(updates.next()?.line == "1 running")
        try await test.finish(id, with: .fail("refused"))
        let parked = try await updates.next()
        #expect(parked?.line == "1 parked" && parked?.states[0].lastError == "refused")
        let hold = try await broker.hold("a", by: "ops")
        try await broker.retryNow()
        try await #expect(updates.next()?.line == "1 waiting")
        try await broker.endHold(hold)
        try await test.drain()
        try await #expect(updates.next()?.line == "1 running")
        try await test.finish(id)
        let gone = try await updates.next()
        #expect(gone?.line == "gone 1 succeeded")
        #expect(gone?.gone[0].details?.queue == "a")
        await broker.close()
    }

    @Test("Dead letters are covered: they are put back, skipped, put at the end, and purged")
    func deadLetters() async throws {
        let test = try await TestBroker()
        let broker = test.broker
        try broker.route("a", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        let id = try await broker.enqueue(Note("1", in: "a")).id
        try await test.drain()
        var updates = broker.observe(actions: .matching(.all)).makeAsyncIterator()
        try await #expect(updates.next()?.line == "snapshot: 1 dead failed")
        try await broker.hold("a", by: "ops")
        try await broker.requeue(id)
        try await #expect(updates.next()?.line == "1 waiting")
        try await broker.skipHead(of: "a", reason: "known")
        try await #expect(updates.next()?.line == "1 dead skipped")
        _ = try await broker.fileEngine.store.write(sync: .owed) { try $0.deadLetters.requeueAtEnd(id) }
        try await #expect(updates.next()?.line == "2 waiting, gone 1 purged skipped")
        try await broker.skipHead(of: "a", reason: "known")
        try await #expect(updates.next()?.line == "2 dead skipped")
        try await broker.purgeDeadLetters()
        try await #expect(updates.next()?.line == "gone 2 purged skipped")
        await broker.close()
    }

    @Test("By a tag: an action is covered as long as it has the tag, wherever it is")
    func tags() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.enqueue([Note("a"), Note("b", in: "other")], EnqueueOptions(tag: "m"))
        try await broker.enqueue(Note("c"))
        var updates = broker.observe(actions: .tag("m")).makeAsyncIterator()
        try await #expect(updates.next()?.line == "snapshot: 1 waiting, 2 waiting")
        let ids = [1, 2, 3].map { ActionID(rawValue: $0) }
        try await broker.enqueue(Note("d"), EnqueueOptions(tag: "n"))
        try await broker.setTag("m", of: ids[2])
        try await #expect(updates.next()?.line == "3 waiting")
        try await broker.setTag(nil, of: ids[0])
        let gone = try await updates.next()
        #expect(gone?.line == "gone 1 waiting" && gone?.gone[0].details?.tag == nil)
        try await broker.move(ids[1], to: "third")
        let moved = try await updates.next()
        #expect(moved?.line == "2 waiting" && moved?.states[0].details?.queue == "third")
        try await broker.cancel(tag: "m")
        let ended = try await updates.next()
        #expect(ended?.line == "gone 2 removed, gone 3 removed")
        #expect(ended?.gone.map(\.details?.tag) == ["m", "m"])
        await broker.close()
    }

    @Test("By a pattern: an action is covered as long as its queue matches")
    func patterns() async throws {
        let broker = try await Site(.memory).broker()
        let names: [QueueName] = ["chat/1", "chat/2", "mail"]
        try await broker.enqueue(names.map { Note("a", in: $0) })
        var updates = broker.observe(actions: .matching("chat/*")).makeAsyncIterator()
        try await #expect(updates.next()?.line == "snapshot: 1 waiting, 2 waiting")
        try await broker.move(ActionID(rawValue: 1), to: "mail")
        let gone = try await updates.next()
        #expect(gone?.line == "gone 1 waiting" && gone?.gone[0].details?.queue == "mail")
        try await broker.move(ActionID(rawValue: 3), to: "chat/3")
        try await #expect(updates.next()?.line == "3 waiting")
        await #expect(throws: SluiceError.self) {
            for try await _ in broker.observe(actions: .matching("a*b")) {}
        }
        await broker.close()
    }

    @Test("A slow consumer gets the latest states, and nothing of actions that came and went")
    func slow() async throws {
        let broker = try await Site(.memory).broker()
        var updates = broker.observe(actions: .queue("notes")).makeAsyncIterator()
        _ = try await updates.next()
        try await broker.enqueue((0..<50).map { Note("\($0)") })
        try await broker.cancel(queues: "notes")
        let last = try await broker.enqueue(Note("last")).id
        for number in 0..<5 { try await broker.setTag("\(number)", of: last) }
        let update = try await updates.next()
        #expect(update?.line == "51 waiting" && update?.states[0].details?.tag == "4")
        await broker.close()
        try await #expect(updates.next()?.line == nil)
    }

    @Test("After more changes than are kept, a new snapshot follows, and then differences again")
    func overflow() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.enqueue(Note("a"))
        var updates = broker.observe(actions: .queue("notes")).makeAsyncIterator()
        _ = try await updates.next()
        try await broker.enqueue((0..<DirtyStates.limit).map { Note("\($0)") })
        try await #expect(updates.next()?.isSnapshot == false)
        try await broker.cancel(ActionID(rawValue: 1))
        try await broker.enqueue((0..<DirtyStates.limit).map { Note("\($0)") })
        let update = try await updates.next()
        #expect(update?.isSnapshot == true && update?.gone.isEmpty == true)
        #expect(update?.states.count == 2 * DirtyStates.limit)
        try await broker.cancel(ActionID(rawValue: 2))
        try await #expect(updates.next()?.line == "gone 2 removed")
        await broker.close()
    }

    @Test("From a position on, the first element has the differences since then, and no state again")
    func position() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let key = DeduplicationKey("k", retention: .seconds(60))
        try await broker.enqueue([Note("a"), Note("b")])
        try await broker.enqueue(Note("c"), EnqueueOptions(key: key))
        var first = broker.observe(actions: .queue("notes")).makeAsyncIterator()
        let position = try await first.next()?.position
        try await broker.cancel(ActionID(rawValue: 1))
        try await broker.enqueue(Note("d"))
        // What ended before the observation began is known as far as this process remembers.
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.hold("notes", by: "ops")
        try await broker.setTag("t", of: ActionID(rawValue: 2))
        var second = broker.observe(actions: .queue("notes"), after: position).makeAsyncIterator()
        let update = try await second.next()
        #expect(update?.line == "2 waiting, 4 waiting, gone 1 removed")
        #expect(update?.states[0].details?.tag == "t")
        try await broker.endHolds(matching: "notes")
        let now = update?.position
        try await running(broker) { await broker.waitUntilIdle() }
        var third = broker.observe(actions: .queue("notes"), after: now).makeAsyncIterator()
        try await #expect(third.next()?.line == "gone 2 succeeded, gone 3 succeeded, gone 4 succeeded")
        try await broker.enqueue(Note("e"))
        try await #expect(third.next()?.line == "5 waiting")
        // Nothing has changed since: the consumer is told so.
        var last = broker.observe(actions: .queue("notes")).makeAsyncIterator()
        let known = try await last.next()?.position
        var fourth = broker.observe(actions: .queue("notes"), after: known).makeAsyncIterator()
        let none = try #require(try await fourth.next())
        #expect(!none.isSnapshot && none.states.isEmpty && none.gone.isEmpty)
        await broker.close()
    }

    @Test("A commit that began before the observer came reaches it too")
    func underWay() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let id = try await broker.enqueue(Note("a")).id
        let (began, goOn) = (Signal(), DispatchSemaphore(value: 0))
        async let write: Void = onOwnThread {
            try broker.fileEngine.store.writeBlocking(sync: .forced) { transaction in
                _ = try transaction.edits.setTag(id, "t")
                began.send()
                goOn.wait()
            }
        }
        defer { goOn.signal() }
        try await began.received()
        var updates = broker.observe(actions: .queue("notes")).makeAsyncIterator()
        let first = try await updates.next()
        goOn.signal()
        try await write
        #expect(first?.states.map(\.details?.tag) == [nil])
        try await #expect(updates.next()?.states.map(\.details?.tag) == ["t"])
        await broker.close()
    }

    @Test("G11: inserts, edits and deletions by SQL are given")
    func shell() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await running(broker) {
            var updates = broker.observe(actions: .matching("*")).makeAsyncIterator()
            try await #expect(updates.next()?.line == "snapshot: ")
            await broker.waitUntilIdle()
            try site.shell(
                "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('a', 'note', '{\"text\":\"x\"}')"
            )
            try await broker.fileEngine.store.readForeignChanges()
            try await #expect(updates.next()?.line == "1 waiting")
            try site.shell("UPDATE sluice_actions SET tag = 't' WHERE id = 1")
            try await broker.fileEngine.store.readForeignChanges()
            try await #expect(updates.next()?.states.map(\.details?.tag) == ["t"])
            try site.shell("DELETE FROM sluice_actions WHERE id = 1")
            try await broker.fileEngine.store.readForeignChanges()
            try await #expect(updates.next()?.line == "gone 1 removed")
        }
        await broker.close()
    }

    @Test("G11: what another process commits is given at the next poll", arguments: [false, true])
    func otherProcess(_ runs: Bool) async throws {
        let site = try Site(.file)
        func broker(_ pid: Int64) async throws -> Broker {
            try await site.broker { options in
                options.standFor(process: pid)
                options.file.watchesWAL = false
                options.file.foreignChangeInterval = .milliseconds(1)
            }
        }
        let (here, there) = (try await broker(1), try await broker(2))
        let (log, seen) = (EventLog<String>(), EventLog<String>())
        try there.routeNotes(to: log)
        let watcher = Task {
            for try await update in here.observe(actions: .queue("notes")) { seen.append(update.line) }
        }
        @Sendable func poll(until isEnough: ([String]) -> Bool) async throws {
            try await until {
                if let time = here.fileEngine.scheduler.time(of: .lookForChanges), time > site.clock.uptime {
                    site.clock.advance(by: time - site.clock.uptime)
                }
                return isEnough(seen.elements)
            }
        }
        @Sendable func exchange() async throws {
            _ = try await seen.wait(forCount: 1)
            let key = DeduplicationKey("k", retention: .seconds(3_600))
            try await there.enqueue(Note("a"), EnqueueOptions(key: key))
            try await poll { $0.count == 2 }
            try await running(there) {
                _ = try await log.wait(forCount: 1)
                await there.waitUntilIdle()
            }
            try await poll { $0.contains("gone 1 succeeded") }
        }
        if runs {
            try await running(here) {
                try await until { here.fileEngine.life.withLock { $0.hasLookedAround } }
                try await exchange()
            }
        } else {
            try await exchange()
        }
        await here.close()
        try await watcher.value
        await there.close()
        // A poll may find it running.
        let lines = seen.elements.filter { $0 != "1 running" }
        #expect(lines == ["snapshot: ", "1 waiting", "gone 1 succeeded"])
    }

    @Test("After changes without events all is read again, at most once in an interval, and not forgotten")
    func interval() {
        let interest = Interest()
        let observers = Observers(interest)
        let pokes = EventLog<QueueID?>()
        let token = ObservationToken(
            observers,
            Observers.Subscriber(asksForOthers: true, poke: { pokes.append($0) }, end: {})
        ) {}
        func tell(_ milliseconds: Int, mayDiffer: Bool = false) -> Int {
            observers.tellCommitOfOthers(
                mayDiffer: mayDiffer,
                at: .milliseconds(milliseconds),
                every: .milliseconds(100)
            )
            return pokes.elements.count
        }
        interest.noteCommitOfOthers()
        #expect(tell(0) == 0)
        interest.noteUntoldChange()
        #expect(tell(1) == 1)
        #expect(tell(2, mayDiffer: true) == 1)
        interest.noteUntoldChange()
        #expect(tell(100) == 1)
        #expect(tell(101) == 2)
        #expect(tell(999) == 2)
        #expect(interest.asksForOthers)
        token.cancel()
        #expect(!interest.asksForOthers)
    }

    @Test("Cancelling the task ends an observation and unsubscribes")
    func cancellation() async throws {
        let broker = try await Site(.memory).broker()
        let seen = Signal()
        let watcher = Task {
            for try await _ in broker.observe(actions: .tag("t")) { seen.send() }
        }
        try await seen.received()
        #expect(broker.fileEngine.store.interest.asksForOthers)
        watcher.cancel()
        try await watcher.value
        #expect(!broker.fileEngine.store.interest.isAny && !broker.fileEngine.store.interest.asksForOthers)
        await broker.close()
    }

    @Test("The example of the page follows a conversation, stops, and continues")
    func example() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let code = try String(
            contentsOf: root.appendingPathComponent("ObservingExample.swift"),
            encoding: .utf8
        )
        let page = try String(
            contentsOf: root.appendingPathComponent("../../../Sources/Sluice/Sluice.docc/ObservingState.md"),
            encoding: .utf8
        )
        #expect(page.contains("```swift\n\(code)```"))
        let broker = try await Site(.memory).broker()
        let outgoing = Outgoing()
        try await broker.enqueue([Note("a"), Note("b")])
        let first = Task { try await outgoing.follow("notes", in: broker) }
        try await until { await outgoing.messages.count == 2 }
        first.cancel()
        try await first.value
        try await broker.cancel(ActionID(rawValue: 1))
        let second = Task { try await outgoing.follow("notes", in: broker) }
        try await until { await outgoing.messages.count == 1 }
        await broker.close()
        try await second.value
    }
}
