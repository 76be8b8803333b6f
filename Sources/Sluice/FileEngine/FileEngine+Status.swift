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
        _ lock: (since: Timestamp, processes: [Int])?,
        _ now: Timestamp
    ) -> QueueStatus {
        let mine = isRunHere ? store.runners.epoch : nil
        let owner = file.runners.first { $0.epoch == facts.runningEpoch && $0.epoch != mine }
        let others = file.runners.filter { !$0.hasDied }
        let isStopped = others.isEmpty && owner == nil
        var head = facts.head(
            file,
            isRunHere ? route(facts) : nil,
            isRunHere ? .here : isStopped ? .none : .elsewhere,
            now
        )
        let routed = processes(routing: facts, file, but: mine, head.missingRoute)
        if !routed.isEmpty { head.missingRoute = nil }
        if let owner {
            head.owners = ["process \(owner.process)"]
        } else if !routed.isEmpty {
            head.owners = routed.map { "process \($0)" }
        } else if isRunHere {
            if head.isFree { head.permit = lackedPermit(facts, file, now) }
            (head.lock, head.refusal) = (lock, scheduler.refusal(of: facts.id))
            head.handlersBlockedSince = runner.watch?.blockedSince
        } else if !isStopped {
            if file.hasClaims { head.permit = .otherProcess }
            // A queue that waits belongs to no process: any of them may run it.
            head.owners = others.map { "process \($0.process)" }
        }
        return QueueStatus(
            queue: facts.name,
            depth: facts.depth,
            because: head.reasons,
            head: facts.head,
            headKind: facts.headKind,
            attempt: facts.attempts + (facts.runningSince == nil ? 0 : 1),
            oldestEnqueuedAt: facts.oldest?.date,
            lastError: facts.lastError ?? facts.blockError,
            queueID: facts.id
        )
    }

    /// The other processes that have the route which this one lacks, or has noted before as missing.
    private func processes(
        routing facts: QueueFacts,
        _ file: StatusFacts,
        but mine: Int64?,
        _ missing: HeadFacts.MissingRoute?
    ) -> [Int] {
        guard missing != nil, let kind = facts.headKind else { return [] }
        return file.processes(withRouteFor: facts.name, kind: kind, but: mine)
    }

    func route(_ facts: QueueFacts) -> RouteMatch? {
        guard facts.head != nil, let kind = facts.headKind else { return nil }
        return routes.route(for: facts.name, kind: kind)
    }

    /// The permit that a free head lacks; only the scheduler knows.
    private func lackedPermit(_ facts: QueueFacts, _ file: StatusFacts, _ now: Timestamp) -> PermitScope? {
        let standing = scheduler.standing(of: facts.id)
        switch standing.phase {
        case .lackingPermit:
            guard case .route(let route) = route(facts) else { return nil }
            return .route(route.pattern)
        case .waiting where !standing.hasTurn: return nil
        case .lackingRate, .waiting:
            return facts.rateTime(file, route(facts), now).map { .rate($0.name, until: $0.time.date) }
        case .suspect: return .crashTrial(of: scheduler.tried)
        case .ready where standing.isTrying: return .crashTrial(of: scheduler.tried)
        case .ready where standing.isFull: return .broker
        case .ready, .claiming, .running, .full, .settling, .blocked, nil: return nil
        }
    }
}

extension QueueFacts {
    /// The facts in the file, and those of the routes if this broker runs the queues.
    func head(
        _ file: StatusFacts,
        _ routing: RouteMatch?,
        _ runner: HeadFacts.Runner,
        _ now: Timestamp
    ) -> HeadFacts {
        var head = HeadFacts(now: now, runner: runner)
        head.run = runningSince.map { ($0, attempts + 1) }
        if let block, !block.reason.isOfHead {
            if block.reason == .undecodable {
                head.undecodable = (block.error ?? "", block.since)
            } else {
                let cause = FailureCause(rawValue: block.reason.rawValue)
                let (error, since) = (block.error ?? "", block.since)
                head.parking = .init(action: block.action, cause: cause, error: error, since: since)
            }
        }
        head.missingRoute = missingRoute(routing)
        head.holds = file.holds(of: name).map { ($0.holder, $0.reason, $0.until.map(Timestamp.init)) }
        for gate in asked(routing) where !file.openGates.contains(gate) {
            head.gates.append((gate, file.gateEnds[gate]))
        }
        head.nextAttemptAt = nextAttemptAt
        head.notBefore = notBefore
        return head
    }

    /// When the rate limit of the head's route allows the next start; `nil` if it has counted none.
    func rateTime(
        _ file: StatusFacts,
        _ routing: RouteMatch?,
        _ now: Timestamp
    ) -> (name: String, time: Timestamp)? {
        guard case .route(let route) = routing, let rate = route.rate,
            runningSince == nil, let time = file.rateTimes[rate.name]
        else { return nil }
        return (rate.name, rate.nextStart(time, at: now))
    }

    /// What the routes of this broker say, or else what another has noted.
    private func missingRoute(_ routing: RouteMatch?) -> HeadFacts.MissingRoute? {
        switch routing {
        case .unroutable(let hasRoute): return hasRoute ? .ofKind : .ofQueue
        case .route: return nil
        case nil:
            guard let block, block.action == head else { return nil }
            if block.reason == .unknownKind { return .ofKind }
            return block.reason == .noRoute ? .ofQueue : nil
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
