#if PostgreSQL
public import Sluice

/// Routes and options, as `Broker` has them, except for what a fleet does not have: see the guide.
extension PostgresBroker {
    /// Sets the options for the queues of a pattern: see `Broker/queues(_:_:)`.
    ///
    /// A discipline other than first in, first out, and a start in batches throw
    /// `SluiceError/Code/unsupported`.
    public func queues(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        try ensureSupported(options)
        try book.setOptions(pattern, options)
    }

    /// Routes the actions of a type to a closure: see `Broker/route(_:_:_:handler:)-(_,A.Type,_,_)`.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try book.add(.pattern(pattern), options, handler: handler)
        routesChanged()
    }

    /// Routes the actions of a type to a closure with a completion: see
    /// `Broker/route(_:completing:_:handler:)`.
    public func route<A: Action>(
        _ pattern: QueuePattern,
        completing type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) {
        try book.add(.pattern(pattern), options, runBy: runner, completing: handler)
        routesChanged()
    }

    /// Routes actions of any kind to a closure: see `Broker/routeAnyKind(_:_:handler:)`.
    public func routeAnyKind(
        _ pattern: QueuePattern,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (_ payload: String, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try book.addAnyKind(.pattern(pattern), options, handler: handler)
        routesChanged()
    }

    /// Routes the actions of several types to one closure: see `ActionUnion`.
    public func route<U: ActionUnion>(
        _ pattern: QueuePattern,
        _ type: U.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (U, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try book.add(.pattern(pattern), options, union: handler)
        routesChanged()
    }

    /// Throws `SluiceError/Code/unsupported`: the server chooses queues by pattern.
    public func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        _ type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) { throw Self.noPredicates }

    /// Throws `SluiceError/Code/unsupported`: the server chooses queues by pattern.
    public func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        completing type: A.Type,
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt, Completion) -> Void
    ) throws(SluiceError) { throw Self.noPredicates }

    /// Removes the route of a pattern for a kind: see `Broker/removeRoute(_:kind:)`.
    @discardableResult
    public func removeRoute(_ pattern: QueuePattern, kind: String?) throws(SluiceError) -> Bool {
        try removed(book.remove(pattern, kind: kind))
    }

    /// Removes all routes of a pattern.
    @discardableResult public func removeRoutes(_ pattern: QueuePattern) throws(SluiceError) -> Bool {
        try removed(book.removeAll(pattern))
    }

    /// Returns `false`: there are no routes by predicate.
    @discardableResult public func removePredicateRoutes() throws(SluiceError) -> Bool { false }

    /// Removes the options of a pattern: see `Broker/removeQueueOptions(_:)`.
    @discardableResult
    public func removeQueueOptions(_ pattern: QueuePattern) async throws(SluiceError) -> Bool {
        _ = try pattern.form()
        return try book.replaceOptions(pattern, by: nil) != nil
    }

    /// Sets other options for the queues of a pattern: see `Broker/replaceQueueOptions(_:by:)`.
    @discardableResult
    public func replaceQueueOptions(
        _ pattern: QueuePattern,
        by options: QueueOptions
    ) async throws(SluiceError) -> Bool {
        try ensureSupported(options)
        _ = try pattern.form()
        return try book.replaceOptions(pattern, by: options) != nil
    }

    private func removed(_ wasThere: Bool) -> Bool {
        if wasThere { routesChanged() }
        return wasThere
    }

    private func routesChanged() {
        loop.routesChanged()
        observers.poke(nil)
    }

    private static var noPredicates: SluiceError {
        SluiceError(
            .unsupported,
            "a route by predicate needs a broker on a file: the server chooses queues by pattern; give one"
        )
    }

    private func ensureSupported(_ options: QueueOptions) throws(SluiceError) {
        guard options.discipline == nil || options.discipline == .firstInFirstOut, options.start == nil else {
            throw SluiceError(
                .unsupported,
                "queues on PostgreSQL run first in, first out, at once: leave out discipline and start"
            )
        }
    }
}
#endif
