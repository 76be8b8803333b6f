internal import Synchronization

/// Queue options and routes. They may be added at any time, also while the broker runs.
extension Broker {
    /// Sets what holds for the queues of a pattern.
    ///
    /// Of several patterns that match a queue, the sort key and the depth of the most specific one hold,
    /// alone: what it leaves out is not taken from another. A discipline and a start are those of the most
    /// specific pattern that says them.
    ///
    /// - Throws: ``SluiceError/Code/duplicateQueueOptions`` when the pattern has options,
    ///   ``SluiceError/Code/invalidPattern``, ``SluiceError/Code/invalidOptions``, also when a route of the
    ///   pattern has said otherwise of its discipline or start.
    public func queues(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        let form = try pattern.formOfRule()
        try options.validate()
        guard drafter.options(form) == nil else {
            throw SluiceError(.duplicateQueueOptions, "the queues '\(pattern)' have options already")
        }
        try scheduler.rules.add(form, options.discipline, options.start)
        guard drafter.add(form, options) else {
            throw SluiceError(.duplicateQueueOptions, "the queues '\(pattern)' have options already")
        }
    }

    /// Routes the actions of a type in the queues of a pattern to a closure.
    ///
    /// Of several routes for a kind whose patterns match a queue, the most specific one runs it: the exact
    /// name, then the longest prefix.
    ///
    /// - Parameters:
    ///   - pattern: A queue's name, or a prefix that ends in `/*`.
    ///   - type: The type of action.
    ///   - options: Retry and failure policies, timeout and cap.
    ///   - handler: Performs an action; see ``Handler/handle(_:_:)``.
    /// - Throws: ``SluiceError/Code/duplicateRoute`` when there is a route for the pattern and the kind,
    ///   ``SluiceError/Code/invalidPattern``, ``SluiceError/Code/invalidKind``,
    ///   ``SluiceError/Code/invalidOptions``.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(pattern, A.kind, options) { [reader] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error):
                return .undecodable(error.reason)
            case .success(let input):
                do { return .outcome(try await handler(input, attempt)) } catch { return .threw(error) }
            }
        }
    }

    /// Routes the actions of a handler's type in the queues of a pattern to the handler.
    ///
    /// See ``route(_:_:_:handler:)``.
    public func route<H: Handler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(pattern, H.Input.self, options) { input, attempt in
            try await handler.handle(input, attempt)
        }
    }

    /// Routes the actions of a type in the queues of a pattern to a closure with a completion.
    ///
    /// ```swift
    /// try broker.route("conversation/*", completing: SendMessage.self) { message, _, completion in
    ///     network.send(message.text) { error in
    ///         completion(success: error == nil, retryTimeout: .seconds(30))
    ///     }
    /// }
    /// ```
    ///
    /// See ``route(_:_:_:handler:)``, and ``Completion`` for what becomes of one that is dropped or called
    /// twice.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        completing type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) {
        try add(pattern, A.kind, options) { [reader, runner] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error):
                return .undecodable(error.reason)
            case .success(let input):
                return await runner.complete(attempt) { handler(input, attempt, $0) }
            }
        }
    }

    /// Routes the actions of a handler's type in the queues of a pattern to a handler with a completion.
    ///
    /// See ``route(_:_:_:handler:)``.
    public func route<H: CompletionHandler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(pattern, completing: H.Input.self, options) { input, attempt, completion in
            handler.handle(input, attempt, completion: completion)
        }
    }

    /// Routes actions of any kind in the queues of a pattern, unless the pattern has a route for their kind.
    ///
    /// The payload is handed over as it is stored, in the version that ``Attempt/version`` tells; a sealed
    /// one is opened first, if the broker has a ``BrokerOptions/payloadSealing``.
    public func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(pattern, nil, options) { [reader] action, attempt in
            switch reader.text(of: action) {
            case .failure(let error):
                return .undecodable(error.reason)
            case .success(let payload):
                do { return .outcome(try await handler(payload, attempt)) } catch { return .threw(error) }
            }
        }
    }

    private func add(
        _ pattern: QueuePattern,
        _ kind: String?,
        _ options: RouteOptions,
        perform: @escaping @Sendable (ClaimedAction, Attempt) async -> HandlerResult
    ) throws(SluiceError) {
        let form = try pattern.formOfRule()
        try routing.withLock { routing throws(SluiceError) in
            guard !routing.isClosed else { throw SluiceError(.closed, "the broker was closed") }
            // A copy, so that a route that is refused leaves nothing.
            var routes = routing.routes
            try routes.add(pattern, kind: kind, options: options, perform: perform)
            try scheduler.rules.add(form, options.discipline, options.start)
            routing.routes = routes
        }
        scheduler.routesChanged()
        codeChanged()
    }

    /// Forgets the routes for good, and so what their handlers hold, which may be the broker itself.
    func dropRoutes() {
        let routes = routing.withLock { routing in
            routing.isClosed = true
            defer { if !mutant("routes go with close") { routing.routes = RouteTable() } }
            return routing.routes
        }
        // What they hold goes here, outside the lock: it is the application's.
        withExtendedLifetime(routes) {}
    }

    /// The discipline of a queue.
    package func discipline(of queue: QueueName) -> QueueDiscipline {
        scheduler.rules.rules(of: queue).discipline
    }

    /// The route for a head, asked in the claiming transaction.
    func route(_ head: Head) -> Scheduler.Routing {
        let (route, matchesQueue) = routing.withLock { $0.routes.route(for: head.queue, kind: head.kind) }
        return route.map(Scheduler.Routing.route) ?? .unroutable(hasRoute: matchesQueue)
    }
}
