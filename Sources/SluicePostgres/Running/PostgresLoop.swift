#if PostgreSQL
internal import Logging
internal import Sluice
internal import Synchronization

/// The loop of one worker: each call of the server settles ended attempts and claims the next actions.
///
/// What happens while a call is under way goes into the next one. A worker that has nothing to do looks again
/// after a pause that doubles up to the poll interval, or when it is woken.
final class PostgresLoop: AttemptSource {
    /// After how many failed calls in a row the log has a warning.
    static let triesBeforeWarning = 3

    let state = Mutex(LoopState())
    let runnerReference = Mutex<AttemptRunner?>(nil)
    let connection: PostgresConnection
    let doorbell: Doorbell
    let lease: WorkerLease
    let book: RouteBook
    let options: BrokerOptions
    let server: PostgresOptions
    let observers: Observers
    let changes: ChangeCounter
    let origin: PostgresOrigin

    init(
        _ connection: PostgresConnection,
        _ book: RouteBook,
        _ options: BrokerOptions,
        _ server: PostgresOptions,
        _ observers: Observers,
        _ origin: PostgresOrigin,
        listener: PostgresConnection?
    ) {
        (self.connection, self.book, self.options, self.server) = (connection, book, options, server)
        let place = options.engine.place
        (self.observers, lease, changes) = (observers, WorkerLease(server.lease, place), ChangeCounter(place))
        doorbell = Doorbell(listener, schema: server.schema, options)
        self.origin = origin
    }

    var place: any WorkPlace { options.engine.place }
    func connect(_ runner: AttemptRunner) { runnerReference.withLock { $0 = runner } }

    var runner: AttemptRunner {
        guard let runner = runnerReference.withLock({ $0 }) else {
            preconditionFailure("the loop was used before it was connected")
        }
        return runner
    }

    func close() async {
        await connection.close()
        await doorbell.close()
        // It breaks the cycle of loop and runner.
        runnerReference.withLock { $0 = nil }
        changes.change()
    }

    // MARK: For the runner

    func settle(
        _ action: ClaimedAction,
        _ settlement: Settlement,
        giveUp: @Sendable () -> Bool,
        whenWorkFails: (any Error) -> Settlement,
        written: (Settlement, SettleResult?) -> Void
    ) async -> (ClaimedAction, Route)? {
        if let next = state.withLock({ $0.slots.handlerReturned(action) }) {
            runner.start(next.action, next.route)
        }
        var settlement = settlement
        if case .successWriting = settlement {
            settlement = whenWorkFails(
                SluiceError(
                    .unsupported,
                    "a closure that writes in the settling transaction needs a broker on a file: "
                        + "call attempt.succeed(in:) in a transaction of your own"
                )
            )
        }
        let answer: Outcomes.Answer = await withCheckedContinuation { continuation in
            let timer = state.withLock { state in
                state.outcomes.add(
                    .init(action: action, settlement: settlement) { continuation.resume(returning: $0) }
                )
                return state.timers.removeValue(forKey: action.receipt.claim)
            }
            timer?.cancel()
            kick()
        }
        settlement = answer.replacement ?? settlement
        written(settlement, answer.result)
        let isStopping = state.withLock { state in
            state.reporting -= 1
            state.active[action.receipt.claim] = nil
            if let end = answer.result?.end(settlement) { state.ends.note(action.receipt.action, end) }
            return state.phase != .running
        }
        changes.change()
        // It may have been the last one that the loop waits for.
        if isStopping { kick() }
        return answer.next
    }

    func attempt(for action: ClaimedAction) -> Attempt { Attempt(action, of: origin) }

    func route(for action: ClaimedAction, after tried: Set<RouteID>) -> Route? {
        guard let route = book.route(for: action, after: tried) else { return nil }
        setTimer(action.receipt.claim, route)
        return route
    }

    func retryUndecodable() { routesChanged() }

    /// Tells observers of events, and the log of those that need a person.
    func report(_ events: [QueueEvent]) {
        guard !events.isEmpty else { return }
        observers.publish(events)
        options.logger.log(events)
    }

    // MARK: Wake-ups

    /// Whether the server is yet to get the routes.
    var hasNewRoutes: Bool { state.withLock { $0.routeChanges != $0.sentRoutes } }

    func routesChanged() {
        state.withLock { $0.routeChanges += 1 }
        kick()
    }

    /// Has the loop look again at once.
    func kick() {
        let sleeper = state.withLock { state in
            state.isKicked = true
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    func noteEnd(of action: ActionID, _ end: ActionEnd) { state.withLock { $0.ends.note(action, end) } }
    func isActive(_ action: ActionID) -> Bool { state.withLock { $0.active.values.contains(action) } }
    func end(of action: ActionID) -> ActionEnd? { state.withLock { $0.ends[action] } }

    var refusal: (error: String, since: Timestamp)? { state.withLock { $0.refusal } }

    func setTimer(_ claim: Int64, _ route: Route) {
        guard let limit = route.options.timeout else { return }
        let timer = Task { [clock = options.clock, weak self] in
            do { try await clock.sleep(untilUptime: clock.uptime + limit) } catch { return }
            self?.runner.timeOut(claim)
        }
        state.withLock { $0.timers.updateValue(timer, forKey: claim) }?.cancel()
    }
}

extension SettleResult {
    /// How the action has ended, if it has.
    fileprivate func end(_ settlement: Settlement) -> ActionEnd? {
        switch (self, settlement) {
        case (.settled, .success), (.settledByApplication, _): .succeeded
        case (.removed, _): .removed
        case (.settled, .fail(let cause, .skip, _)), (.settled, .fail(let cause, .failQueue, _)):
            .deadLettered(cause)
        default: nil
        }
    }
}
#endif
