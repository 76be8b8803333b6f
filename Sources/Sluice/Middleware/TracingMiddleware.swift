#if Tracing
public import Tracing

/// Traces by swift-distributed-tracing, with the trait `Tracing`; see <doc:MetricsAndTracing>.
///
/// ```swift
/// options.middleware = [TracingMiddleware()]
/// ```
///
/// The trace context of the enqueuer is stored with the action. Each attempt is a span of the kind
/// *consumer*, the root of a trace of its own, with a link to the enqueuer's span: attempts may be many, and
/// days later. Spans contain neither payloads nor the texts of errors (G13).
public struct TracingMiddleware: Middleware {
    private let tracer: (any Tracer)?
    private let namesQueues: Bool

    /// Makes the middleware; without a tracer it uses the one that `InstrumentationSystem` has.
    ///
    /// - Parameters:
    ///   - tracer: The tracer of the spans.
    ///   - namesQueues: Whether spans have the attribute `sluice.queue`, which may be personal data.
    public init(tracer: (any Tracer)? = nil, namesQueues: Bool = false) {
        self.tracer = tracer
        self.namesQueues = namesQueues
    }

    private var currentTracer: any Tracer { tracer ?? InstrumentationSystem.tracer }

    /// Stores the caller's trace context with the actions, if there is one.
    public func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID] {
        var context = context
        if let current = InstrumentationContext.current, !current.isEmpty {
            currentTracer.inject(current, into: &context.trace, using: FieldInjector())
        }
        return try await next(context)
    }

    /// Makes a span of the attempt.
    public func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        let tracer = currentTracer
        // Not this task's context, which is that of the caller that has woken the queue.
        let name = "process \(context.attempt.kind)"
        let span = tracer.startAnySpan(name, context: .topLevel, ofKind: .consumer)
        defer { span.end() }
        var enqueuer = InstrumentationContext.topLevel
        tracer.extract(context.trace, into: &enqueuer, using: FieldExtractor())
        if !enqueuer.isEmpty { span.addLink(SpanLink(context: enqueuer, attributes: [:])) }
        span.attributes["sluice.kind"] = context.attempt.kind
        span.attributes["sluice.attempt"] = context.attempt.number
        if namesQueues { span.attributes["sluice.queue"] = context.attempt.queue.rawValue }
        do {
            let result = try await InstrumentationContext.$current.withValue(span.context) {
                try await next()
            }
            span.attributes["sluice.outcome"] = result.kind.rawValue
            if let cause = result.cause { span.attributes["sluice.cause"] = cause.rawValue }
            if result.kind == .retrying || result.kind == .failed { span.setStatus(SpanStatus(code: .error)) }
            return result
        } catch {
            span.attributes["sluice.outcome"] = "threw"
            span.setStatus(SpanStatus(code: .error))
            throw error
        }
    }
}

private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key] = value
    }
}

private struct FieldExtractor: Extractor {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
}
#endif
