import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A middleware of closures.
private struct Around: Middleware {
    var onEnqueue: @Sendable (EnqueueContext, NextEnqueue) async throws -> [ActionID] = {
        try await $1($0)
    }
    var onAttempt: @Sendable (AttemptContext, NextAttempt) async throws -> AttemptResult = { try await $1() }

    func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID] {
        try await onEnqueue(context, next)
    }

    func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        try await onAttempt(context, next)
    }
}

/// One that leaves everything as it is.
private struct Nothing: Middleware {}

/// One that tells when it begins and ends.
private func telling(_ name: String, _ log: EventLog<String>) -> Around {
    Around { context, next in
        log.append("\(name) enqueues \(context.actions.map(\.kind))")
        defer { log.append("\(name) has enqueued") }
        return try await next(context)
    } onAttempt: { context, next in
        log.append("\(name) begins \(context.attempt.number)")
        let result = try await next()
        log.append("\(name) ends \(result.kind)")
        return result
    }
}

@Suite("Middleware around attempts", .watched) struct AttemptMiddlewareTests {
    @Test("The first of the middleware is the outermost, of enqueues and of attempts")
    func order() async throws {
        let site = try Site(.memory)
        let log = EventLog<String>()
        let broker = try await site.broker {
            $0.middleware = [telling("outer", log), Nothing(), telling("inner", log)]
        }
        try broker.routeNotes(to: log)
        try await broker.enqueue([Note("a")])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(
            log.elements == [
                #"outer enqueues ["note"]"#, #"inner enqueues ["note"]"#, "inner has enqueued",
                "outer has enqueued", "outer begins 1", "inner begins 1", "a", "inner ends succeeded",
                "outer ends succeeded",
            ]
        )
    }

    @Test("It is told what the attempt leads to: a retry with its delay, or the end and its cause")
    func results() async throws {
        let site = try Site(.memory)
        let results = EventLog<AttemptResult>()
        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { _, next in
                    let result = try await next()
                    results.append(result)
                    return result
                })
            ]
        }
        let options = RouteOptions(
            retry: .fixed(.seconds(5)).limited(to: 2),
            failure: FailurePolicies(failed: .skip, exhausted: .skip, undecodable: .skip)
        )
        try broker.route("*", Note.self, options) { note, _ in
            switch note.text {
            case "throws": throw TestError("no")
            case "fails": .fail("never")
            case "releases": .release(untilOpen: "g")
            default: .success
            }
        }
        try await running(broker) {
            try await broker.enqueue(Note("throws"))
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
            try await broker.enqueue([Note("fails"), Note("succeeds")])
            try await broker.enqueue(raw: [RawAction(queue: "notes", kind: "note", payload: "1")])
            try await broker.enqueue(Note("releases"))
            _ = try await results.wait(forCount: 6)
        }
        let told = results.elements
        #expect(told.map(\.kind) == [.retrying, .failed, .failed, .succeeded, .failed, .released])
        #expect(told.map(\.isFinal) == [false, true, true, true, true, false])
        #expect(told.map(\.delay) == [.seconds(5), nil, nil, nil, nil, .seconds(1)])
        #expect(told.map(\.cause) == [nil, .exhausted, .failed, nil, .undecodable, nil])
        #expect(told.map(\.policy) == [nil, .skip, .skip, nil, .skip, nil])
        #expect(told.map(\.gate) == [nil, nil, nil, nil, nil, "g"])
        #expect(told.prefix(3).map(\.error) == ["no", "no", "never"])
    }

    @Test("G3: a queue's next action starts when the middleware around the one before has returned")
    func slot() async throws {
        let site = try Site(.memory)
        let log = EventLog<String>()
        let (isBehind, go) = (Signal(), Signal())
        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { context, next in
                    let result = try await next()
                    if context.attempt.id.rawValue == 1 {
                        isBehind.send()
                        try await go.received()
                    }
                    log.append("returned \(context.attempt.id)")
                    return result
                })
            ]
        }
        try broker.routeNotes(to: log)
        try await running(broker) {
            try await broker.enqueue([Note("a"), Note("b")])
            try await broker.enqueue(Note("elsewhere", in: "other"))
            try await isBehind.received()
            _ = try await log.wait(forCount: 3)
            #expect(Set(log.elements) == ["a", "elsewhere", "returned 3"])
            // What has returned is settled behind that.
            try await until { try await broker.actionCount() == 2 }
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements.suffix(3) == ["returned 1", "b", "returned 2"])
    }

    @Test("G7: the claim is in the file before the middleware begins")
    func claim() async throws {
        let site = try Site()
        let claims = EventLog<Int>()

        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { context, next in
                    let connection = try Connection(path: try #require(site.file).path, mode: .write)
                    claims.append(
                        try connection.prepare("SELECT action_id FROM sluice_claim_rows").all { $0.int(0) }
                            .first ?? 0
                    )
                    return try await next()
                })
            ]
        }
        try broker.routeNotes(to: EventLog())
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(claims.elements == [1])
        #expect(broker.statistics.succeeded == 1)
        await broker.close()
    }

    @Test(
        "G5: what it throws is as if the handler had thrown, before it and after its success",
        arguments: [
            false, true,
        ]
    )
    func throwing(_ isAfter: Bool) async throws {
        let site = try Site(.memory)
        let log = EventLog<String>()
        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { context, next in
                    let isFirst = context.attempt.number == 1
                    if isFirst && !isAfter { throw TestError("by middleware") }
                    let result = try await next()
                    if isFirst && isAfter { throw TestError("by middleware") }
                    return result
                })
            ]
        }
        try broker.route("*", Note.self, retrying(.fixed(.seconds(5)))) { _, attempt in
            log.append("\(attempt.idempotencyKey) \(attempt.lastError ?? "-")")
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
        }
        let lines = log.elements.map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
        #expect(lines.map { $0[1] } == (isAfter ? ["-", "by middleware"] : ["by middleware"]))
        #expect(Set(lines.map { $0[0] }).count == 1)
        #expect(broker.statistics.retried == 1)
        #expect(broker.statistics.succeeded == 1)
    }

    @Test("It can end an attempt without the handler, and overrule it")
    func overruling() async throws {
        let site = try Site(.memory)
        let log = EventLog<String>()
        let isLimited = Mutex(true)
        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { context, next in
                    let isLimited = isLimited.withLock { isLimited in
                        defer { isLimited = false }
                        return isLimited
                    }
                    if isLimited { return context.result(of: .release) }
                    _ = try await next()
                    return context.result(of: .fail("overruled"))
                })
            ]
        }
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await site.clock.waitForSleeper(untilUptime: .seconds(1))
            site.clock.advance(by: .seconds(1))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1"])
        try await #expect(broker.deadLetters().map(\.error) == ["overruled"])
        #expect(broker.statistics.released == 1)
    }
}

@Suite("Middleware and cancellation, and around enqueues", .watched)
struct MiddlewareTests {
    @Test("A timeout cancels the middleware too, and the attempt has timed out")
    func timeout() async throws {
        let site = try Site(.memory)
        let started = Signal()
        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { context, next in
                    let result = try await next()
                    guard context.attempt.number == 1 else { return result }
                    started.send()
                    try await untilCancelled()
                    return result
                })
            ]
        }
        var options = retrying(.fixed(.zero))
        options.timeout = .seconds(3)
        let errors = EventLog<String?>()
        try broker.route("*", Note.self, options) { _, attempt in
            errors.append(attempt.lastError)
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await started.received()
            try await site.clock.waitForSleeper(untilUptime: .seconds(3))
            site.clock.advance(by: .seconds(3))
            _ = try await errors.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(errors.elements == [nil, "timed out after 3.0 seconds"])
        #expect(broker.statistics.timeouts == 1)
    }

    @Test("An action that is cancelled while it runs is told as removed, and is")
    func removed() async throws {
        let site = try Site(.memory)
        let results = EventLog<AttemptResult>()
        let started = Signal()
        let broker = try await site.broker {
            $0.middleware = [
                Around(onAttempt: { _, next in
                    let result = try await next()
                    results.append(result)
                    return result
                })
            ]
        }
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await running(broker) {
            let id = try await broker.enqueue(Note("a")).id
            try await started.received()
            try await #expect(broker.cancel(id) == .signalled)
            await broker.waitUntilIdle()
        }
        let result = try #require(results.elements.first)
        #expect(result.kind == .removed && result.isFinal && result.delay == nil)
        #expect(broker.statistics.removed == 1)
    }

    @Test("An enqueue that middleware refuses is not stored, one that it refuses afterwards is")
    func refusing() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker {
            $0.middleware = [
                Around(onEnqueue: { context, next in
                    if context.actions.contains(where: { $0.queue == "closed" }) { throw TestError("closed") }
                    let ids = try await next(context)
                    if context.actions.contains(where: { $0.queue == "late" }) { throw TestError("late") }
                    return ids
                })
            ]
        }
        await #expect(throws: TestError.self) { try await broker.enqueue(Note("a", in: "closed")) }
        try await #expect(broker.actionCount() == 0)
        await #expect(throws: TestError.self) { try await broker.enqueue(Note("b", in: "late")) }
        try await #expect(broker.actionCount() == 1)
        let ids = try await broker.enqueue([Note("c"), Note("d")])
        #expect(ids.map(\.rawValue) == [2, 3])
        // A caller that blocks cannot wait for it.
        try broker.enqueueBlocking(Note("e", in: "closed"))
        try await #expect(broker.actionCount() == 4)
    }

    @Test("The trace that an enqueue leaves is found by its attempts, and stays with a dead letter")
    func trace() async throws {
        let site = try Site()
        let traces = EventLog<[String: String]>()
        let fields = EventLog<[String: String]>()
        let broker = try await site.broker {
            $0.middleware = [
                Around { context, next in
                    var context = context
                    context.trace = fields.elements.last ?? [:]
                    return try await next(context)
                } onAttempt: { context, next in
                    traces.append(context.trace)
                    return try await next()
                }
            ]
        }
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("kept") }
        try await broker.enqueue(Note("none"))
        fields.append(["b": "2", "a/\"": "1"])
        try await broker.enqueue(Note("some"))
        fields.append(["long": String(repeating: "x", count: TraceText.maximumByteCount)])
        try await broker.enqueue(Note("too many"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(traces.elements == [[:], ["b": "2", "a/\"": "1"], [:]])
        let stored = try await broker.fileEngine.store.read {
            try $0.prepare("SELECT trace FROM sluice_dead_rows ORDER BY id").all { $0.optionalText(0) }
        }
        #expect(stored == [nil, #"{"a/\"":"1","b":"2"}"#, nil])
        await broker.close()
    }
}
