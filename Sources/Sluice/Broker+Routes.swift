internal import Synchronization

/// Queue options and routes. They may be added at any time, also while the broker runs.
extension Broker {
    /// Sets what holds for the queues of a pattern.
    ///
    /// Of several patterns that match a queue, the options of the most specific one hold, alone.
    ///
    /// - Throws: ``SluiceError/Code/duplicateQueueOptions`` when the pattern has options,
    ///   ``SluiceError/Code/invalidPattern``, ``SluiceError/Code/invalidOptions``.
    public func queues(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        let form = try pattern.form()
        try options.validate()
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

    /// Routes the actions of a handler's type in the queues of a pattern to a handler with a completion.
    ///
    /// See ``route(_:_:_:handler:)``.
    public func route<H: CompletionHandler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try add(pattern, H.Input.kind, options) { [reader, runner] action, attempt in
            switch reader.read(H.Input.self, from: action) {
            case .failure(let error):
                return .undecodable(error.reason)
            case .success(let input):
                return await runner.complete(attempt) { handler.handle(input, attempt, completion: $0) }
            }
        }
    }

    /// Routes actions of any kind in the queues of a pattern, unless the pattern has a route for their kind.
    ///
    /// The payload is handed over as it is stored, in the version that ``Attempt/version`` tells.
    public func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(pattern, nil, options) { action, attempt in
            do { return .outcome(try await handler(action.payload, attempt)) } catch { return .threw(error) }
        }
    }

    private func add(
        _ pattern: QueuePattern,
        _ kind: String?,
        _ options: RouteOptions,
        perform: @escaping @Sendable (ClaimedAction, Attempt) async -> HandlerResult
    ) throws(SluiceError) {
        try routing.withLock { routing throws(SluiceError) in
            try routing.routes.add(pattern, kind: kind, options: options, perform: perform)
        }
        scheduler.routesChanged()
        codeChanged()
    }

    /// The route for a head, asked in the claiming transaction.
    func route(_ head: Head) -> Scheduler.Routing {
        let (route, matchesQueue) = routing.withLock { $0.routes.route(for: head.queue, kind: head.kind) }
        return route.map(Scheduler.Routing.route) ?? .unroutable(hasRoute: matchesQueue)
    }
}
