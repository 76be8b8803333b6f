extension ActionBroker {
    /// Routes the actions of a handler's type to it: see ``Broker/route(where:_:_:handler:)``.
    public func route<H: Handler>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(where: isMatch, H.Input.self, options) { try await handler.handle($0, $1) }
    }

    /// Routes the actions of a handler's type to it: see ``Broker/route(where:completing:_:handler:)``.
    public func route<H: CompletionHandler>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(where: isMatch, completing: H.Input.self, options) {
            handler.handle($0, $1, completion: $2)
        }
    }

    /// Removes the route of a pattern for a type of action: see ``Broker/removeRoute(_:kind:)``.
    @discardableResult
    public func removeRoute<A: Action>(_ pattern: QueuePattern, _ type: A.Type) throws(SluiceError) -> Bool {
        try removeRoute(pattern, kind: A.kind)
    }

    /// Removes the routes of a pattern for the kinds of a union: see ``Broker/removeRoute(_:kind:)``.
    @discardableResult public func removeRoute<U: ActionUnion>(
        _ pattern: QueuePattern,
        _ type: U.Type
    ) throws(SluiceError) -> Bool {
        var wasThere = false
        for one in U.cases { if try removeRoute(pattern, kind: one.kind) { wasThere = true } }
        return wasThere
    }
}

// As in ``ActionBroker``: a concrete broker has default arguments of its own, which are preferred.
extension ActionBroker {
    /// Routes the actions of several types with the default options.
    @_disfavoredOverload public func route<U: ActionUnion>(
        _ pattern: QueuePattern,
        _ type: U.Type,
        handler: @escaping @Sendable (U, Attempt) async throws -> Outcome
    ) throws(SluiceError) { try route(pattern, type, RouteOptions(), handler: handler) }

    /// Routes the actions of a type in the queues that satisfy a predicate, with the default options.
    @_disfavoredOverload public func route<A: Action>(
        where isMatch: @escaping @Sendable (QueueName) -> Bool,
        _ type: A.Type,
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) { try route(where: isMatch, type, RouteOptions(), handler: handler) }
}
