/// Queue options and routes. They may be added at any time, also while the broker runs.
extension Broker {
    /// Sets the options for the queues of a pattern.
    ///
    /// If several patterns match a queue, sort key and depth are those of the most specific pattern alone,
    /// even where it sets none. Discipline and start are those of the most specific pattern that sets them.
    /// Throws ``SluiceError`` `duplicateQueueOptions` when the pattern has options, `invalidPattern`,
    /// `invalidOptions`, `closed`.
    public func queues(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        try routes.change { table throws(SluiceError) in try table.add(pattern, options) }
    }

    /// Routes the actions of a type in the queues of a pattern to a closure, like ``Handler/handle(_:_:)``.
    ///
    /// If several routes for a kind match a queue, the most specific one runs it: the exact name, then the
    /// longest prefix. Throws ``SluiceError`` `duplicateRoute` when there is a route for the pattern and the
    /// kind, `invalidPattern`, `invalidKind`, `invalidOptions`, `closed`.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(pattern, A.kind, options) { [reader] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input):
                do { return .outcome(try await handler(input, attempt)) } catch { return .threw(error) }
            }
        }
    }

    /// Routes the actions of a type in the queues of a pattern to a closure with a completion.
    ///
    /// ```swift
    /// try broker.route("conversation/*", completing: SendMessage.self) { message, _, completion in
    ///     network.send(message.text) { completion(success: $0 == nil, retryTimeout: .seconds(30)) }
    /// }
    /// ```
    ///
    /// See ``route(_:_:_:handler:)``, and ``Completion`` about completions that are dropped or called twice.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        completing type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) {
        try add(pattern, A.kind, options) { [reader, runner] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input): return await runner.complete(attempt) { handler(input, attempt, $0) }
            }
        }
    }

    /// Routes actions of any kind in the queues of a pattern, unless the pattern has a route for their kind.
    ///
    /// The handler gets the payload as stored, in the version ``Attempt/version``; a sealed one is opened
    /// first, if the broker has a ``BrokerOptions/payloadSealing``.
    public func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(pattern, nil, options) { [reader] action, attempt in
            switch reader.text(of: action) {
            case .failure(let error): return .undecodable(error.reason)
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
        _ = try pattern.formOfRule()
        try routes.change { table throws(SluiceError) in
            try table.add(pattern, kind: kind, options: options, perform: perform)
        }
        scheduler.routesChanged()
        codeChanged()
    }

    package func discipline(of queue: QueueName) -> QueueDiscipline {
        routes.admission.queues.rules(of: queue).discipline
    }
}
