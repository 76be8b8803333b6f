internal import Logging
internal import Synchronization

/// Runs handlers: one task for each permit in use, which runs actions as long as there are any.
package final class AttemptRunner: Sendable {
    struct State {
        var tasks: [Int64: AttemptTask] = [:]
        /// The claims of running actions, so that a change to an action finds its handler.
        var claims: [ActionID: Int64] = [:]
        /// Claims cancelled before their handler begins; it is cancelled when it begins.
        var early: [Int64: CancelReason] = [:]
        var statistics = Statistics()
        var randomness: any RandomNumberGenerator & Sendable
        /// The broker stops: outcomes that cannot be written are left to the next start.
        var isCancelling = false
    }

    let state: Mutex<State>
    private let source: any AttemptSource
    private let reader: PayloadReader
    private let drafter: Drafter
    let options: BrokerOptions
    let watch: HandlerWatch?
    package let observer: (any EngineObserver)?

    package init(source: any AttemptSource, reader: PayloadReader, drafter: Drafter, options: BrokerOptions) {
        (self.source, self.reader, self.drafter, self.options) = (source, reader, drafter, options)
        state = Mutex(State(randomness: options.randomness))
        watch = HandlerWatch(options)
        observer = options.observer
    }

    package var statistics: Statistics { state.withLock { $0.statistics } }
    func count(_ change: (inout Statistics) -> Void) { state.withLock { change(&$0.statistics) } }

    /// Notes a claimed action before its handler begins: from now on a cancellation finds it.
    package func announce(_ action: ClaimedAction) {
        state.withLock { $0.claims[action.receipt.action] = action.receipt.claim }
    }

    /// Forgets an action that was announced, and does not start here.
    package func forget(_ action: ClaimedAction) {
        state.withLock { state in
            let claim = action.receipt.claim
            state.early[claim] = nil
            if state.claims[action.receipt.action] == claim { state.claims[action.receipt.action] = nil }
        }
    }

    /// Runs the handler of a claimed action, in a task of its own.
    package func start(_ action: ClaimedAction, _ route: Route) {
        let attemptTask = AttemptTask(action)
        enter(action, attemptTask)
        watch?.began { [weak self] in self?.state.withLock { !$0.tasks.isEmpty } ?? false }
        attemptTask.attach(
            Task(executorPreference: mutant("handlers where asked") ? nil : options.handlerExecutor) {
                let place = HandlerPlace(runner: ObjectIdentifier(self), task: attemptTask)
                await HandlerPlace.$current.withValue(place) { await self.work(action, route, attemptTask) }
            }
        )
    }

    /// Runs one handler after the other; the settling of each claims the next.
    private func work(_ first: ClaimedAction, _ firstRoute: Route, _ task: AttemptTask) async {
        var (action, route) = (first, firstRoute)
        while true {
            let attempt = source.attempt(for: action)
            let revision = reader.revision
            let startedAt = observer == nil ? .zero : options.clock.uptime
            observer?.started(action)
            let settlement: Settlement
            if options.middleware.isEmpty {
                var result = await route.perform(action, attempt)
                if result.isDeclined { (result, route) = await passOn(action, attempt, route, task) }
                settlement = self.settlement(for: result, of: attempt, task.reason, route)
            } else {
                let ended = await performInMiddleware(action, attempt, route, task)
                settlement = ended.settlement
                route = ended.route
            }
            let endedAt = observer == nil ? .zero : options.clock.uptime
            let next = await source.settle(action, settlement) {
                state.withLock { $0.isCancelling }
            } whenWorkFails: { error in
                self.settlement(for: .threw(error), of: attempt, task.reason, route)
            } written: { [action] settlement, settled in
                observer?.ended(action, settlement, settled, after: endedAt - startedAt)
                leave(action, settlement, settled)
            }
            // A route or upgrader that was added in the meantime did not find this action parked yet.
            if settlement.isUndecodable && reader.revision != revision {
                source.retryUndecodable()
            }
            guard let next else { return }
            guard task.proceed(to: next.0) else { return start(next.0, next.1) }
            (action, route) = next
            enter(action, task)
        }
    }

    private func enter(_ action: ClaimedAction, _ task: AttemptTask) {
        let claim = action.receipt.claim
        let reason = state.withLock { state -> CancelReason? in
            state.tasks[claim] = task
            state.claims[action.receipt.action] = claim
            state.statistics.started += 1
            if state.isCancelling { return .stop }
            guard let reason = state.early.removeValue(forKey: claim) else { return nil }
            if case .timeout = reason { state.statistics.timeouts += 1 }
            return reason
        }
        if let reason { task.cancel(claim, reason) }
    }

    private func leave(_ action: ClaimedAction, _ settlement: Settlement, _ result: SettleResult?) {
        let (id, claim) = (action.receipt.action, action.receipt.claim)
        state.withLock { state in
            state.tasks[claim] = nil
            if state.claims[id] == claim { state.claims[id] = nil }
            state.statistics.count(settlement, result)
        }
        guard result == .stale else { return }
        options.logger.debug("stale completion ignored", metadata: ["action": "\(id)", "claim": "\(claim)"])
    }

    private func settlement(
        for result: HandlerResult,
        of attempt: Attempt,
        _ reason: CancelReason?,
        _ route: Route
    ) -> Settlement {
        if case .outcome(let outcome) = result {
            switch outcome.storage {
            case .success: return .success
            case .successWriting(let closure): return .successWriting(SettlingWork(closure, drafter))
            case .retry, .fail, .halt, .release, .declined: break
            }
        }
        // A generator of its own, so that the user's policy runs without the lock.
        var generator: any RandomNumberGenerator = SplitMix(seed: state.withLock { $0.randomness.next() })
        return Settlement(
            of: result,
            attempt: attempt,
            cancelledBy: reason,
            options: route.options,
            reader: reader,
            using: &generator
        )
    }

    /// Passes an action on to its other routes, until one has handled it or each was asked once.
    private func passOn(
        _ action: ClaimedAction,
        _ attempt: Attempt,
        _ first: Route,
        _ task: AttemptTask
    ) async -> (HandlerResult, Route) {
        var (route, tried) = (first, [first.id] as Set)
        while task.reason == nil, let next = source.route(for: action, after: tried) {
            tried.insert(next.id)
            route = next
            let result = await next.perform(action, attempt)
            if !result.isDeclined { return (result, next) }
        }
        return (.outcome(.declined), route)
    }

    /// Runs a handler inside the middleware, whose errors count as the handler's; returns its route too.
    private func performInMiddleware(
        _ action: ClaimedAction,
        _ attempt: Attempt,
        _ first: Route,
        _ task: AttemptTask
    ) async -> (settlement: Settlement, route: Route) {
        let route = Mutex(first)
        let context = AttemptContext(action, attempt, first.pattern) { [self] result in
            let reason = task.reason
            return AttemptResult(
                settlement(for: result, of: attempt, reason, route.withLock { $0 }),
                isCancelled: reason == .removal
            )
        }
        let ended: Settlement
        do {
            ended = try await pass(options.middleware[...], context) { [self] in
                let result = await first.perform(action, attempt)
                guard result.isDeclined else { return result }
                let (last, handler) = await passOn(action, attempt, first, task)
                route.withLock { $0 = handler }
                return last
            }.settlement
        } catch { ended = context.result(of: .threw(error)).settlement }
        return (ended, route.withLock { $0 })
    }

    /// Calls the remaining middleware, the outermost first.
    private func pass(
        _ rest: ArraySlice<any Middleware>,
        _ context: AttemptContext,
        _ perform: @escaping @Sendable () async -> HandlerResult
    ) async throws -> AttemptResult {
        guard let first = rest.first else { return context.result(of: await perform()) }
        let next = NextAttempt { try await self.pass(rest.dropFirst(), context, perform) }
        return try await first.attempt(context, next: next)
    }
}

extension Statistics {
    fileprivate mutating func count(_ settlement: Settlement, _ result: SettleResult?) {
        switch (result, settlement) {
        case (nil, _): break
        case (.stale, _): staleCompletions += 1
        case (.removed, _): removed += 1
        case (.settled, .success), (.settled, .successWriting), (.settledByApplication, _): succeeded += 1
        case (.settled, .retry): retried += 1
        case (.settled, .fail): failed += 1
        case (.settled, .release), (.settled, .stop): released += 1
        }
    }
}
