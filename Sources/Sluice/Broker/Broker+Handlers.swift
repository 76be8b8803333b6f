/// Routes to handlers that are types, and by types.
extension Broker {
    /// Routes the actions of a handler's type to the handler.
    ///
    /// See ``route(_:_:_:handler:)-(_,A.Type,_,_)``.
    public func route<H: Handler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) { try route(pattern, H.Input.self, options) { try await handler.handle($0, $1) } }

    /// Routes the actions of a handler's type to it: see ``route(_:completing:_:handler:)``.
    public func route<H: CompletionHandler>(
        _ pattern: QueuePattern,
        to handler: H,
        _ options: RouteOptions = RouteOptions()
    ) throws(SluiceError) {
        try route(pattern, completing: H.Input.self, options) { handler.handle($0, $1, completion: $2) }
    }

    /// Removes the route of a pattern for a type of action: see ``removeRoute(_:kind:)``.
    @discardableResult
    public func removeRoute<A: Action>(_ pattern: QueuePattern, _ type: A.Type) throws(SluiceError) -> Bool {
        try removeRoute(pattern, kind: A.kind)
    }

    /// Removes the routes of a pattern for the kinds of a union: see ``removeRoute(_:kind:)``.
    @discardableResult public func removeRoute<U: ActionUnion>(
        _ pattern: QueuePattern,
        _ type: U.Type
    ) throws(SluiceError) -> Bool {
        var wasThere = false
        for one in U.cases { if try removeRoute(pattern, kind: one.kind) { wasThere = true } }
        return wasThere
    }
}
