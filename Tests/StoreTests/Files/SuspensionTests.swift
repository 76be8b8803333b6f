import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Suspension", .watched(minutes: 5)) struct SuspensionTests {
    @Test("A closed connection's address is not taken for the engine's, and the next one is prepared too")
    func address() async throws {
        let site = try Site()
        let prepared = EventLog<Int>()
        let broker = try await site.broker {
            $0.file.prepareConnection = { prepared.append(Int(bitPattern: $0)) }
        }
        #expect(broker.fileEngine.store.writerAddress.load(ordering: .acquiring) == prepared.elements.last)
        await broker.file?.suspend()
        #expect(broker.fileEngine.store.writerAddress.load(ordering: .acquiring) == 0)
        try await broker.file?.resume()
        #expect(broker.fileEngine.store.writerAddress.load(ordering: .acquiring) == prepared.elements.last)
        #expect(prepared.elements.count == 2)
        await broker.close()
    }

    #if os(Linux)
    @Test("No lock is held while it lasts, under load and many times over, and nothing is lost or doubled")
    func holdsNoLock() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        let done = EventLog<ActionID>()
        try broker.route("lane/*", Note.self) { _, attempt in
            done.append(attempt.id)
            return .success
        }
        let enqueued = EventLog<ActionID>()
        try await running(broker) {
            let producers = (0..<64).map { lane in
                Task {
                    while !Task.isCancelled {
                        let id = try await broker.enqueue(Note("n", in: QueueName("lane/\(lane)"))).id
                        enqueued.append(id)
                        _ = try await broker.status(of: QueueName("lane/\(lane)"))
                    }
                }
            }
            for round in 1...30 {
                _ = try await enqueued.wait(forCount: round * 20)
                #expect(try round > 1 || !heldLocks(on: path).isEmpty)
                await broker.file?.suspend()
                #expect(try heldLocks(on: path) == [], "round \(round)")
                let count = enqueued.elements.count
                for _ in 0..<50 { await Task.yield() }
                #expect(try heldLocks(on: path) == [], "round \(round)")
                // What was told before the close may still have been on its way.
                #expect(enqueued.elements.count - count <= 64)
                try await broker.file?.resume()
            }
            for producer in producers { producer.cancel() }
            for producer in producers { _ = await producer.result }
            await broker.waitUntilIdle()
        }
        let (all, ran) = (enqueued.elements, done.elements)
        #expect(all.count > 600)
        #expect(Set(all).symmetricDifference(ran) == [])
        #expect(ran.count == all.count)
        let connection = try Connection(path: path, mode: .write)
        #expect(try connection.pragma("integrity_check") == "ok")
        connection.close()
        await broker.close()
    }
    #endif

    @Test("Writes and reads wait for the end, in their order; one that is cancelled is not stored")
    func waiting() async throws {
        let site = try Site()
        let broker = try await site.broker()
        await broker.file?.suspend()
        #expect(broker.fileEngine.suspension.isOn)
        let first = Task { try await broker.enqueue(Note("first")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        let cancelled = Task { try await broker.enqueue(Note("cancelled")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 2 }
        let second = Task { try await broker.enqueue(Note("second")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 3 }
        let read = Task { try await broker.actionCount() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(broker.fileEngine.store.writer.load.waiting == 2)
        try await broker.file?.resume()
        #expect(try await first.value.id < second.value.id)
        #expect((0...2).contains(try await read.value))
        try await #expect(
            broker.actionSummaries().map(\.payload) == [#"{"text":"first"}"#, #"{"text":"second"}"#]
        )
        await broker.close()
    }

    @Test("Handlers go on; what they return is written at the end, and nothing starts before")
    func handlers() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (started, end, ended) = (Signal(), Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await end.received()
            ended.send()
            return .success
        }
        try await broker.enqueue([Note("1"), Note("2")])
        try await running(broker) {
            try await started.received()
            try await until { broker.fileEngine.isAtRest(butFor: 1) }
            await broker.file?.suspend()
            end.send()
            try await ended.received()
            try await until { broker.fileEngine.store.writer.load.waiting == 1 }
            #expect(started.elements.count == 1)
            try await broker.file?.resume()
            try await ended.received(2)
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 2 && broker.statistics.staleCompletions == 0)
        await broker.close()
    }

    @Test("What others change meanwhile is taken in, and runs")
    func foreignChanges() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.watchesWAL = false }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("1", in: "empty"))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            await broker.waitUntilIdle()
            await broker.file?.suspend()
            // Another type of sort key, which the writer's memory of the queue would refuse.
            try site.shell(
                """
                INSERT INTO sluice_actions (queue, kind, payload, sort_key)
                VALUES ('empty', 'note', '{"text":"2"}', 7), ('new', 'note', '{"text":"3"}', NULL);
                CREATE TABLE own (a);
                """
            )
            try await broker.file?.resume()
            try await broker.enqueue(Note("4", in: "empty", order: .integer(8)))
            _ = try await log.wait(forCount: 4)
        }
        #expect(Set(log.elements) == ["1", "2", "3", "4"])
        await broker.close()
    }

    @Test("Both can be called again, in any order and at once, and change nothing then")
    func idempotent() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try await broker.file?.resume()
        await withTaskGroup { group in
            for _ in 0..<10 { group.addTask { await broker.file?.suspend() } }
        }
        #expect(broker.fileEngine.suspension.isOn)
        try await withThrowingTaskGroup { group in
            for _ in 0..<10 { group.addTask { try await broker.file?.resume() } }
            try await group.waitForAll()
        }
        #expect(!broker.fileEngine.suspension.isOn)
        let stored = EventLog<Int>()
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    if number.isMultiple(of: 2) {
                        await broker.file?.suspend()
                    } else {
                        try await broker.file?.resume()
                    }
                }
                group.addTask {
                    _ = try await broker.enqueue(Note("\(number)"))
                    stored.append(number)
                }
            }
            group.addTask {
                try await until {
                    try await broker.file?.resume()
                    return stored.elements.count == 20
                }
            }
            try await group.waitForAll()
        }
        try await broker.file?.resume()
        try await #expect(broker.actionCount() == 20)
        await broker.close()
    }

    @Test("A close writes what waits; a stop returns behind the end; a run begins behind it")
    func otherCalls() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (started, end) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await end.received()
            return .success
        }
        try await broker.enqueue(Note("1"))
        await broker.file?.suspend()
        let run = Task { try await broker.run() }
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        try await broker.file?.resume()
        try await started.received()
        try await until { broker.fileEngine.isAtRest(butFor: 1) }
        await broker.file?.suspend()
        let stop = Task { await broker.stop() }
        try await until { broker.fileEngine.life.withLock { $0.state == .stopping } }
        end.send()
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        try await broker.file?.resume()
        await stop.value
        try await run.value
        try await #expect(broker.actionCount() == 0)

        await broker.file?.suspend()
        let enqueue = Task { try await broker.enqueue(Note("2")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        await broker.close()
        _ = try await enqueue.value
        #expect(await refusal { try await broker.file?.resume() } == nil)
        #expect(await refusal { try await broker.enqueue(Note("3")) } == .closed)
        let second = try await site.broker()
        try await #expect(second.actionCount() == 1)
        await second.close()
    }

    @Test("The file stays this broker's: another one in the process is refused meanwhile")
    func alreadyOpen() async throws {
        let site = try Site()
        let broker = try await site.broker()
        await broker.file?.suspend()
        #expect(await refusal { try await site.broker() } == .alreadyOpen)
        #expect(await refusal { try await broker.file?.backup(to: "nowhere") } == .suspended)
        await broker.close()
        try await site.broker().close()
    }

    @Test("A broker that only reads can be suspended too")
    func reader() async throws {
        let site = try Site()
        try await site.broker().close()
        let reader = try await site.broker { $0.file.role = .readOnly }
        await reader.file?.suspend()
        let read = Task { try await reader.actionCount() }
        try await reader.file?.resume()
        try await #expect(read.value == 0)
        await reader.file?.suspend()
        await reader.close()
    }
}
