internal import Sluice
internal import Synchronization

/// Wraps every attempt of a test's broker: knows which run, and holds attempts.
final class Turnstile: Middleware {
    /// How a held attempt continues.
    enum Way: Sendable {
        case run
        case end(Result<Outcome, any Error>)
    }

    private struct Held {
        let attempt: Attempt
        let continuation: CheckedContinuation<Way, Never>
    }

    /// An attempt that has begun and not returned.
    private struct Present {
        let action: ActionID
        let claim: Int64?
    }

    /// A handler that began before others of its queue had returned.
    struct Overlap: Sendable {
        let action: ActionID
        let queue: QueueName
        let others: [ActionID]
    }

    private struct State {
        var present: [QueueName: [Present]] = [:]
        var overlaps: [Overlap] = []
        var isHolding = false
        var heedsCancellation = true
        /// The broker stops, so cancelled attempts end.
        var isEnding = false
        var held: [ActionID: Held] = [:]
        /// Attempts cancelled while they were held, or before.
        var cancelled: Set<ActionID> = []
        /// The action whose attempt stops between its handler and its outcome, for a crash.
        var haltingAction: ActionID?
        var halted: CheckedContinuation<Void, Never>?
        /// The last epoch whose broker has crashed: its attempts count no more.
        var crashedEpoch: Int64 = -1
        var onEnqueue: (@Sendable ([ActionID], [SortKey]) -> Void)?

        func isOfCrashed(_ attempt: Attempt) -> Bool {
            attempt.claim.map { $0 >> 32 <= crashedEpoch } ?? false
        }
    }

    private let state = Mutex(State())
    private let restWaiters: RestWaiters

    /// - Parameter restWaiters: Notified of each held attempt, which counts as at rest.
    init(_ restWaiters: RestWaiters) {
        self.restWaiters = restWaiters
    }

    /// Receives the sort keys of enqueued actions before any of them can run to its end.
    var onEnqueue: (@Sendable ([ActionID], [SortKey]) -> Void)? {
        get { state.withLock { $0.onEnqueue } }
        set { state.withLock { $0.onEnqueue = newValue } }
    }

    func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID] {
        let ids = try await next(context)
        onEnqueue?(ids, context.sortKeys)
        return ids
    }

    func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        enter(context.attempt)
        defer { leave(context.attempt) }
        switch await pass(context.attempt) {
        case .end(let result): return context.result(of: try result.get())
        case .run:
            do {
                let result = try await next()
                await halt(behind: context.attempt)
                return result
            } catch {
                await halt(behind: context.attempt)
                throw error
            }
        }
    }
}

// MARK: - The test's side

extension Turnstile {
    var isHolding: Bool { state.withLock { $0.isHolding } }

    /// Handlers that began before others of their queue had returned, in the order in which they began.
    var overlaps: [Overlap] { state.withLock { $0.overlaps } }

    var heldCount: Int { state.withLock { $0.held.count } }

    /// In the order of their claims.
    var held: [Attempt] {
        state.withLock { $0.held.values.map(\.attempt) }.sorted { ($0.claim ?? 0) < ($1.claim ?? 0) }
    }

    func hold(_ heedsCancellation: Bool) {
        state.withLock { ($0.isHolding, $0.heedsCancellation) = (true, heedsCancellation) }
    }

    func letAllGo() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [:] }
            return Array(state.held.values)
        }
        for attempt in held { attempt.continuation.resume(returning: .run) }
    }

    /// - Returns: Whether it was held.
    @discardableResult
    func letGo(_ action: ActionID, _ way: Way) -> Bool {
        let held = state.withLock { $0.held.removeValue(forKey: action) }
        held?.continuation.resume(returning: way)
        return held != nil
    }

    /// The broker runs.
    func begin() { state.withLock { $0.isEnding = false } }

    /// The broker is about to stop: cancelled attempts end, held or not.
    func end() {
        let ended = state.withLock { state in
            state.isEnding = true
            return state.cancelled.compactMap { state.held.removeValue(forKey: $0) }
        }
        for attempt in ended { attempt.continuation.resume(returning: Self.cancellation) }
    }

    /// Whether an attempt waits after its handler: see ``haltAfter(_:)``.
    var hasHalted: Bool { state.withLock { $0.halted != nil } }

    /// Stops the attempt of an action when its handler has returned; `nil` lets it continue.
    func haltAfter(_ action: ActionID?) {
        let halted = state.withLock { state in
            state.haltingAction = action
            defer { state.halted = nil }
            return state.halted
        }
        halted?.resume()
    }

    /// Forgets the attempts of a broker that has crashed, and ends those that are held.
    func abandon(through epoch: Int64?) {
        let held = state.withLock { state in
            if let epoch { state.crashedEpoch = epoch }
            (state.present, state.cancelled) = ([:], [])
            defer { state.held = [:] }
            return Array(state.held.values)
        }
        for attempt in held { attempt.continuation.resume(returning: Self.cancellation) }
        haltAfter(nil)
    }

    private static var cancellation: Way { .end(.failure(CancellationError())) }
}

// MARK: - The attempts' side

extension Turnstile {
    private func enter(_ attempt: Attempt) {
        state.withLock { state in
            if state.isOfCrashed(attempt) { return }
            let others = state.present[attempt.queue, default: []]
            if !others.isEmpty {
                let actions = others.map(\.action)
                state.overlaps.append(Overlap(action: attempt.id, queue: attempt.queue, others: actions))
            }
            let present = Present(action: attempt.id, claim: attempt.claim)
            state.present[attempt.queue] = others + [present]
        }
    }

    private func leave(_ attempt: Attempt) {
        state.withLock { state in
            // After a crash the same action may run again, under another claim.
            let index = state.present[attempt.queue]?.firstIndex {
                $0.action == attempt.id && $0.claim == attempt.claim
            }
            guard let index else { return }
            state.present[attempt.queue]?.remove(at: index)
        }
    }

    /// Waits as long as the attempt is held.
    private func pass(_ attempt: Attempt) async -> Way {
        let way = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let way = state.withLock { state -> Way? in
                    if state.isOfCrashed(attempt) { return Self.cancellation }
                    if !state.isHolding { return .run }
                    if state.cancelled.contains(attempt.id), state.heedsCancellation || state.isEnding {
                        return Self.cancellation
                    }
                    state.held[attempt.id] = Held(attempt: attempt, continuation: continuation)
                    return nil
                }
                if let way { continuation.resume(returning: way) } else { restWaiters.changed() }
            }
        } onCancel: {
            cancel(attempt.id)
        }
        state.withLock { _ = $0.cancelled.remove(attempt.id) }
        return way
    }

    /// Waits after the handler as long as that is asked of the action's attempt.
    private func halt(behind attempt: Attempt) async {
        await withCheckedContinuation { continuation in
            let halts = state.withLock { state in
                guard state.haltingAction == attempt.id, state.halted == nil, !state.isOfCrashed(attempt)
                else { return false }
                state.halted = continuation
                return true
            }
            if halts { restWaiters.changed() } else { continuation.resume() }
        }
    }

    private func cancel(_ action: ActionID) {
        let held = state.withLock { state -> Held? in
            state.cancelled.insert(action)
            guard state.heedsCancellation || state.isEnding else { return nil }
            return state.held.removeValue(forKey: action)
        }
        held?.continuation.resume(returning: Self.cancellation)
    }
}
