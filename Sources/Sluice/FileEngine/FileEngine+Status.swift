internal import Synchronization

extension FileEngine {
    package func statuses(
        matching form: QueuePattern.Form,
        in states: Set<QueueStatus.State>?,
        limit: Int
    ) async throws(SluiceError) -> [QueueStatus] { try await statuses(of: form, in: states, limit: limit) }

    func statuses(
        of form: QueuePattern.Form,
        among dirty: DirtyStates? = nil,
        in states: Set<QueueStatus.State>?,
        after name: QueueName? = nil,
        limit: Int
    ) async throws(SluiceError) -> [QueueStatus] {
        guard limit > 0 else { return [] }
        let found = Mutex<[QueueStatus]>([])
        let isRunHere = isRunning
        let now = options.clock.now
        let pageSize = min(limit, Self.queuePage)
        try await store.queueFacts(form, among: dirty, after: name, page: pageSize) { [self] file, page in
            let lock = isRunHere ? store.lockInTheWay(walPath: file.walPath) : nil
            return found.withLock { found in
                for facts in page where found.count < limit {
                    let status = status(facts, file, isRunHere: isRunHere, lock, now)
                    if states?.contains(status.state) ?? true { found.append(status) }
                }
                return found.count < limit
            }
        }
        return found.withLock { $0 }
    }

    private func status(
        _ facts: QueueFacts,
        _ file: StatusFacts,
        isRunHere: Bool,
        _ lock: Because?,
        _ now: Timestamp
    ) -> QueueStatus {
        var because = facts.becauseOfFile(file, isRunHere ? route(facts) : nil, now)
        let mine = isRunHere ? store.runners.epoch : nil
        if let owner = file.runners.first(where: { $0.epoch == facts.runningEpoch && $0.epoch != mine }) {
            because.append(.owned(by: "process \(owner.process)"))
        } else if isRunHere {
            if because.isEmpty { because = [readiness(facts, file, now)] }
            // These obstacles say more than that the head is about to start.
            let obstacles = [
                because.contains(where: \.needsWriteLock) ? lock : nil, scheduler.refusal(of: facts.id),
                because.contains(where: \.needsHandler) ? blockage : nil,
            ]
            .compactMap { $0 }
            if !obstacles.isEmpty { because.removeAll { $0 == .ready } }
            because += obstacles
        } else if file.runners.allSatisfy(\.hasDied) {
            because.append(.stopped)
        } else {
            if because.isEmpty && file.hasClaims { because = [.permit(.otherProcess)] }
            // A queue that waits belongs to no process: any of them may run it.
            because += file.runners.filter { !$0.hasDied }.map { .owned(by: "process \($0.process)") }
        }
        return QueueStatus(
            queue: facts.name,
            depth: facts.depth,
            because: because,
            head: facts.head,
            headKind: facts.headKind,
            attempt: facts.attempts + (facts.runningSince == nil ? 0 : 1),
            oldestEnqueuedAt: facts.oldest?.date,
            lastError: facts.lastError ?? facts.blockError,
            queueID: facts.id
        )
    }

    private var blockage: Because? { runner.watch?.blockedSince.map { .handlersBlocked(since: $0.date) } }

    func route(_ facts: QueueFacts) -> RouteMatch? {
        guard facts.head != nil, let kind = facts.headKind else { return nil }
        return routes.route(for: facts.name, kind: kind)
    }

    /// Why a head does not run that nothing in the file prevents from running.
    private func readiness(_ facts: QueueFacts, _ file: StatusFacts, _ now: Timestamp) -> Because {
        switch scheduler.standing(of: facts.id) {
        case .lacksPermit: return .permit(.broker)
        case .awaitsTrial: return .permit(.crashTrial(of: scheduler.tried))
        case .free: return .ready
        case .lacksRoutePermit:
            guard case .route(let route) = route(facts) else { return .ready }
            return .permit(.route(route.pattern))
        case .lacksRate: return facts.becauseOfRate(file, route(facts), now) ?? .ready
        }
    }
}

extension QueueFacts {
    /// The reasons in the file, and those of the routes if this broker runs the queues.
    func becauseOfFile(_ file: StatusFacts, _ routing: RouteMatch?, _ now: Timestamp) -> [Because] {
        var because: [Because] = []
        if let runningSince { because.append(.running(since: runningSince.date, attempt: attempts + 1)) }
        because += becauseOfBlock(routing)
        for hold in file.holds(of: name) {
            because.append(.held(by: hold.holder, reason: hold.reason, until: hold.until))
        }
        // The reasons below apply only to a head that has not started.
        guard runningSince == nil else { return because }
        for gate in asked(routing) where !file.openGates.contains(gate) {
            because.append(.gate(gate, until: file.gateEnds[gate]?.date))
        }
        if let nextAttemptAt, nextAttemptAt > now { because.append(.retry(until: nextAttemptAt.date)) }
        if let notBefore, notBefore > now { because.append(.scheduled(for: notBefore.date)) }
        return because
    }

    /// When the rate limit of the head's route allows the next start; `nil` if it has counted none.
    func becauseOfRate(_ file: StatusFacts, _ routing: RouteMatch?, _ now: Timestamp) -> Because? {
        guard case .route(let route) = routing, let rate = route.rate,
            runningSince == nil, let time = file.rateTimes[rate.name]
        else { return nil }
        return .permit(.rate(rate.name, until: rate.nextStart(time, at: now).date))
    }

    private func becauseOfBlock(_ routing: RouteMatch?) -> [Because] {
        if let block, !block.reason.isOfHead, block.reason != .undecodable {
            let cause = FailureCause(rawValue: block.reason.rawValue)
            return [
                .parked(by: block.action, cause: cause, error: block.error ?? "", since: block.since.date)
            ]
        }
        guard runningSince == nil else { return [] }
        if let block, block.reason == .undecodable {
            return [.undecodable(error: block.error ?? "", since: block.since.date)]
        }
        switch routing {
        case .unroutable(let hasRoute): return [hasRoute ? .unknownKind : .noRoute]
        case .route: return []
        case nil:
            guard let block, block.action == head else { return [] }
            return Because(unroutable: block.reason).map { [$0] } ?? []
        }
    }

    /// The error of what blocks the queue, unless it is a gate's name or of an action other than the head.
    fileprivate var blockError: String? {
        guard let block, block.reason != .gate else { return nil }
        return block.action == head || block.reason == .failing ? block.error : nil
    }

    /// The gates that the head needs, each once.
    private func asked(_ routing: RouteMatch?) -> [GateName] {
        var asked = gates
        if case .route(let route) = routing {
            asked += route.options.gates
        } else if let block, block.reason == .gate, block.action == head, let gate = block.error {
            asked.append(GateName(gate))
        }
        var seen: Set<GateName> = []
        return asked.filter { seen.insert($0).inserted }
    }
}
