/// Queue options and routes. They may be added, replaced and removed at any time, also while the broker runs.
extension Broker {
    /// Sets the options for the queues of a pattern.
    ///
    /// If several patterns match a queue, sort key and depth are those of the most specific pattern alone,
    /// even where it sets none. Discipline and start are those of the most specific pattern that sets them.
    /// Throws ``SluiceError`` `duplicateQueueOptions` when the pattern has options, `invalidPattern`,
    /// `invalidOptions`, `closed`; `unsupported` for a discipline or a start that a server does not have.
    public func configure(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        try require(options)
        try book.setOptions(pattern, options)
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
    ) throws(SluiceError) {
        try book.add(.pattern(pattern), options, handler: handler)
        routesChanged(options)
    }

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
    /// `invalidKind`, `invalidOptions`, `closed`; `unsupported` on a server, which chooses queues by pattern.
    public func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try require(.predicates)
        try book.add(.predicate(isMatch), options, handler: handler)
        routesChanged(options)
    }

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
        try book.add(.pattern(pattern), options, union: handler)
        routesChanged(options)
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
    ) throws(SluiceError) {
        try book.add(.pattern(pattern), options, runBy: runner, completing: handler)
        routesChanged(options)
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
        try book.addAnyKind(.pattern(pattern), options, handler: handler)
        routesChanged(options)
    }

    private func routesChanged(_ options: RouteOptions) {
        engine.routesChanged(mayStrand: options.replaces)
        engine.codeChanged()
    }

    package func discipline(of queue: QueueName) -> QueueDiscipline {
        book.routes.admission.queues.rules(of: queue).discipline
    }
}

/// Removing routes and queue options, at any time, also while the broker runs.
extension Broker {
    /// Removes the route of a pattern for a kind; `nil` is the route for any kind.
    ///
    /// Running handlers of the route finish with it. Heads that have no other route stay, with the reason
    /// ``WaitReason/unknownKind`` or ``WaitReason/noRoute``, and run when a route is added (G10). Heads that
    /// have another one run by that at once, so do not remove a route to replace it: add the new one with
    /// ``RouteOptions/replaces``.
    ///
    /// A route for an ``ActionUnion`` keeps its other kinds. The handler is released when none of its runs is
    /// left.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``SluiceError`` `invalidPattern`, `closed`.
    @discardableResult
    public func removeRoute(_ pattern: QueuePattern, kind: String?) throws(SluiceError) -> Bool {
        try removed(book.remove(pattern, kind: kind))
    }

    /// Removes all routes of a pattern, under the rules of ``removeRoute(_:kind:)``.
    ///
    /// - Returns: Whether there was one.
    @discardableResult public func removeRoutes(_ pattern: QueuePattern) throws(SluiceError) -> Bool {
        try removed(book.removeAll(pattern))
    }

    /// Removes all routes by predicate, under the rules of ``removeRoute(_:kind:)``.
    ///
    /// - Returns: Whether there was one.
    @discardableResult public func removePredicateRoutes() throws(SluiceError) -> Bool {
        try removed(book.removePredicates())
    }

    private func removed(_ wasThere: Bool) -> Bool {
        guard wasThere else { return false }
        engine.routesChanged(mayStrand: true)
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
        if let options { try require(options) }
        let form = try pattern.form()
        guard let old = try book.replaceOptions(pattern, by: options) else { return false }
        try await engine.optionsChanged(form, from: old)
        return true
    }
}
