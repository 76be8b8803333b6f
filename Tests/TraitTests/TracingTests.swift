#if Tracing
import InMemoryTracing
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing
import Tracing

@testable import EngineSupport
@testable import Sluice

@Suite("Tracing", .watched) struct TracingTests {
    private let tracer = InMemoryTracer(idGenerator: .incrementing)

    private func broker(_ site: Site, namesQueues: Bool = false) async throws -> Broker {
        try await site.broker {
            $0.middleware = [TracingMiddleware(tracer: tracer, namesQueues: namesQueues)]
        }
    }

    /// An attribute of spans as text.
    private func values(_ name: String, _ spans: [FinishedInMemorySpan]) -> [String] {
        spans.map { span in
            switch span.attributes.get(name) {
            case nil: "-"
            case .string(let text): text
            case .int64(let number): "\(number)"
            case let other?: "\(other)"
            }
        }
    }

    private func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    @Test("An attempt's span is of a trace of its own and linked to the enqueuer's, also after a restart")
    func link() async throws {
        let site = try Site()
        let first = try await broker(site)
        try await tracer.withSpan("request") { _ in
            _ = try await first.enqueue(Note("a"))
        }
        await first.close()

        let second = try await broker(site)
        try second.route("*", Note.self) { _, _ in
            tracer.withSpan("inside") { _ in }
            return .success
        }
        try await running(second) { await second.waitUntilIdle() }
        let request = try #require(spans("request").first)
        let attempt = try #require(spans("process note").first)
        #expect(attempt.kind == .consumer)
        #expect(attempt.parentSpanID == nil)
        #expect(attempt.traceID != request.traceID)
        #expect(attempt.links.count == 1)
        #expect(attempt.links.first?.context.inMemorySpanContext?.spanID == request.spanID)
        #expect(attempt.links.first?.context.inMemorySpanContext?.traceID == request.traceID)
        let inside = try #require(spans("inside").first)
        #expect(inside.parentSpanID == attempt.spanID)
        #expect(inside.traceID == attempt.traceID)
        await second.close()
    }

    @Test("A span tells kind, attempt, outcome and cause, and an error where the attempt has failed")
    func attributes() async throws {
        let site = try Site(.memory)
        let broker = try await broker(site)
        let options = RouteOptions(
            retry: .fixed(.seconds(2)).limited(to: 2),
            failure: .all(.skip)
        )
        try broker.route("*", Note.self, options) { note, _ in
            if note.text == "canary" { throw TestError("canary") }
            return .success
        }
        try await running(broker) {
            try await broker.enqueue(Note("canary"))
            try await site.clock.waitForSleeper(untilUptime: .seconds(2))
            site.clock.advance(by: .seconds(2))
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("b"))
            await broker.waitUntilIdle()
        }
        let spans = spans("process note")
        #expect(values("sluice.outcome", spans) == ["retrying", "failed", "succeeded"])
        #expect(values("sluice.attempt", spans) == ["1", "2", "1"])
        #expect(values("sluice.kind", spans) == ["note", "note", "note"])
        #expect(values("sluice.cause", spans) == ["-", "exhausted", "-"])
        #expect(spans.map { $0.status?.code == .error } == [true, true, false])
        #expect(spans.allSatisfy { $0.links.isEmpty && $0.errors.isEmpty })
        // G13: neither queues nor what an error says.
        #expect(values("sluice.queue", spans) == ["-", "-", "-"])
        #expect(spans.allSatisfy { $0.status?.message == nil })
    }

    @Test("Queues are named where that is asked for")
    func queues() async throws {
        let site = try Site(.memory)
        let broker = try await broker(site, namesQueues: true)
        try broker.routeNotes(to: EventLog())
        try await broker.enqueue(Note("a", in: "here"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(values("sluice.queue", spans("process note")) == ["here"])
    }

    @Test("An attempt that is cancelled, and one that other middleware ends by throwing, have ended spans")
    func throwing() async throws {
        struct Failing: Middleware {
            func attempt(
                _ context: AttemptContext,
                next: NextAttempt
            ) async throws -> AttemptResult {
                throw TestError("no")
            }
        }
        let site = try Site(.memory)
        let broker = try await site.broker {
            $0.middleware = [TracingMiddleware(tracer: tracer), Failing()]
        }
        try broker.route("*", Note.self, retrying(.halt)) { _, _ in .success }
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        let span = try #require(spans("process note").first)
        #expect(values("sluice.outcome", [span]) == ["threw"])
        #expect(span.status?.code == .error)
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test("Without a context, and without a tracer, no trace is stored")
    func nothing() async throws {
        let site = try Site()
        let traced = try await broker(site)
        try await traced.enqueue(Note("no context"))
        try await tracer.withSpan("request") { _ in
            _ = try await traced.enqueue([Note("context"), Note("context")])
        }
        await traced.close()
        let plain = try await site.broker { $0.middleware = [TracingMiddleware()] }
        try await tracer.withSpan("request") { _ in
            _ = try await plain.enqueue(Note("no tracer was bootstrapped"))
        }
        let stored = try await plain.fileEngine.store.read {
            try $0.prepare("SELECT trace FROM sluice_action_rows ORDER BY id").all { $0.optionalText(0) }
        }
        #expect(stored.map { $0 == nil } == [true, false, false, true])
        let fields = TraceText.fields(of: stored[1])
        #expect(Set(fields.keys) == [InMemoryTracer.traceIDKey, InMemoryTracer.spanIDKey])
        try await #expect(plain.action(ActionID(rawValue: 2)).details?.trace == fields)
        await plain.close()
    }
}
#endif
