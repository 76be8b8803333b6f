/// Queue options and routes. They may be added, replaced and removed at any time, also while the broker runs.
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
    /// longest prefix, then predicates. Throws ``SluiceError`` `duplicateRoute` when there is a route for the
    /// pattern and the kind, unless ``RouteOptions/replaces`` is set, `invalidPattern`, `invalidKind`,
    /// `invalidOptions`, `closed`.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) { try add(.pattern(pattern), [A.kind], options, perform: performing(handler)) }

    /// Routes the actions of a type in the queues whose names satisfy a predicate to a closure.
    ///
    /// ```swift
    /// try broker.route(where: { $0.rawValue.hasSuffix("/media") }, Upload.self) { upload, attempt in … }
    /// ```
    ///
    /// Such routes are the last in the order of specificity, after all patterns, also `*`; among themselves
    /// they have the order in which they were added. The predicate is called while a transaction is open: it
    /// must be quick, call nothing of the broker, and always give the same answer for a name. Where a
    /// pattern is shown, such as in ``PermitScope/route(_:)``, the route has `*`. Throws ``SluiceError``
    /// `invalidKind`, `invalidOptions`, `closed`.
    public func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) { try add(.predicate(isMatch), [A.kind], options, perform: performing(handler)) }

    /// Routes the actions of several types in the queues of a pattern to one closure: see ``ActionUnion``.
    ///
    /// The route has all kinds of the union or, if it throws, none. Throws as
    /// ``route(_:_:_:handler:)-(_,A.Type,_,_)``.
    public func route<U: ActionUnion>(
        _ pattern: QueuePattern,
        _ type: U.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (U, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        let cases = U.cases
        guard !cases.isEmpty else { throw SluiceError(.invalidOptions, "'\(type)' has no cases") }
        try add(.pattern(pattern), cases.map(\.kind), options) { [reader] action, attempt in
            guard let found = cases.first(where: { $0.kind == action.kind }) else {
                return .outcome(.notMine)
            }
            switch found.read(reader, action) {
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
    /// See ``route(_:_:_:handler:)-(_,A.Type,_,_)``, and ``Completion`` about completions that are dropped or
    /// called twice.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        completing type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) { try add(.pattern(pattern), [A.kind], options, perform: completing(handler)) }

    /// Routes the actions of a type in the queues that satisfy a predicate to a closure with a completion.
    ///
    /// See ``route(where:_:_:handler:)`` about the predicate.
    public func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        completing type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) { try add(.predicate(isMatch), [A.kind], options, perform: completing(handler)) }

    /// Routes actions of any kind in the queues of a pattern, unless the pattern has a route for their kind.
    ///
    /// The handler gets the payload as stored, in the version ``Attempt/version``; a sealed one is opened
    /// first, if the broker has a ``BrokerOptions/payloadSealing``.
    public func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try add(.pattern(pattern), [nil], options) { [reader] action, attempt in
            switch reader.text(of: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let payload):
                do { return .outcome(try await handler(payload, attempt)) } catch { return .threw(error) }
            }
        }
    }

    private func performing<A: Action>(
        _ handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) -> Route.Perform {
        { [reader] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input):
                do { return .outcome(try await handler(input, attempt)) } catch { return .threw(error) }
            }
        }
    }

    private func completing<A: Action>(
        _ handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) -> Route.Perform {
        { [reader, runner] action, attempt in
            switch reader.read(A.self, from: action) {
            case .failure(let error): return .undecodable(error.reason)
            case .success(let input): return await runner.complete(attempt) { handler(input, attempt, $0) }
            }
        }
    }

    private func add(
        _ scope: RouteScope,
        _ kinds: [String?],
        _ options: RouteOptions,
        perform: @escaping Route.Perform
    ) throws(SluiceError) {
        if case .pattern(let pattern) = scope { _ = try pattern.formOfRule() }
        try routes.change { table throws(SluiceError) in
            try table.add(scope, kinds: kinds, options: options, perform: perform)
        }
        scheduler.routesChanged()
        if options.replaces { observers.poke(nil) }
        codeChanged()
    }

    package func discipline(of queue: QueueName) -> QueueDiscipline {
        routes.admission.queues.rules(of: queue).discipline
    }
}

/// Removing routes and queue options, at any time, also while the broker runs.
extension Broker {
    /// Removes the route of a pattern for a kind; `nil` is the route for any kind.
    ///
    /// Running handlers of the route finish with it. Heads that have no other route stay, with the reason
    /// ``Because/unknownKind`` or ``Because/noRoute``, and run when a route is added (G10). Heads that have
    /// another one run by that at once, so do not remove a route to replace it: add the new one with
    /// ``RouteOptions/replaces``.
    ///
    /// A route for an ``ActionUnion`` keeps its other kinds. The handler is released when none of its runs is
    /// left.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``SluiceError`` `invalidPattern`, `closed`.
    @discardableResult
    public func removeRoute(_ pattern: QueuePattern, kind: String?) throws(SluiceError) -> Bool {
        try removed(routes.change { table throws(SluiceError) in try table.remove(pattern, kind: kind) })
    }

    /// Removes all routes of a pattern, under the rules of ``removeRoute(_:kind:)``.
    ///
    /// - Returns: Whether there was one.
    @discardableResult public func removeRoutes(_ pattern: QueuePattern) throws(SluiceError) -> Bool {
        try removed(routes.change { table throws(SluiceError) in try table.removeAll(pattern) })
    }

    /// Removes all routes by predicate, under the rules of ``removeRoute(_:kind:)``.
    ///
    /// - Returns: Whether there was one.
    @discardableResult public func removePredicateRoutes() throws(SluiceError) -> Bool {
        try removed(routes.change { table throws(SluiceError) in table.removeChoices() })
    }

    private func removed(_ wasThere: Bool) -> Bool {
        guard wasThere else { return false }
        scheduler.routesChanged()
        observers.poke(nil)
        return true
    }

    /// Removes the options of a pattern, under the rules of ``replaceQueueOptions(_:by:)``.
    ///
    /// - Returns: Whether there were some.
    @discardableResult
    public func removeQueueOptions(_ pattern: QueuePattern) async throws(SluiceError) -> Bool {
        try await changeOptions(pattern, to: nil)
    }

    /// Sets the options for the queues of a pattern instead of those that it has, if it has some.
    ///
    /// They apply from a queue's next claim or enqueue on. Actions that run with more slots than the queue
    /// now has finish first. Batches of the queues that have not started, or not ended, are begun again by
    /// the new options.
    ///
    /// ```swift
    /// try await broker.replaceQueueOptions("uploads", by: QueueOptions(discipline: .concurrent(8)))
    /// ```
    ///
    /// - Returns: Whether there were some.
    /// - Throws: ``SluiceError`` `invalidPattern`, `invalidOptions`, `closed`; errors of the file, with the
    ///   options changed.
    @discardableResult
    public func replaceQueueOptions(
        _ pattern: QueuePattern,
        by options: QueueOptions
    ) async throws(SluiceError) -> Bool { try await changeOptions(pattern, to: options) }

    private func changeOptions(
        _ pattern: QueuePattern,
        to options: QueueOptions?
    ) async throws(SluiceError) -> Bool {
        let form = try pattern.form()
        let old = try routes.change { table throws(SluiceError) in try table.replace(pattern, by: options) }
        if old?.start != nil, isRunning { try await store.forgetBatches(form) }
        return old != nil
    }
}
