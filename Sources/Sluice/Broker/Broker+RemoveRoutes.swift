/// Removing routes and queue options, at any time, also while the broker runs.
extension Broker {
    /// Removes the route of a pattern for a kind; `nil` is the route for any kind.
    ///
    /// Running handlers of the route finish with it. Heads that have no other route stay, with the reason
    /// ``Because/unknownKind`` or ``Because/noRoute``, and run when a route is added (G10). So to replace a
    /// route, remove it and add another, which has limits of its own from then on:
    ///
    /// ```swift
    /// try broker.removeRoute("conversation/*", SendMessage.self)
    /// try broker.route("conversation/*", SendMessage.self, RouteOptions(concurrency: 2), handler: send)
    /// ```
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
        scheduler.routesRemoved()
        observers.poke(nil)
        return true
    }

    /// Removes the options of a pattern, so that they can be set again, perhaps differently.
    ///
    /// Other options apply from a queue's next claim or enqueue on. Actions that run with more slots than
    /// the queue now has finish first. Batches of the queues that have not started, or not ended, are begun
    /// again by the new options.
    ///
    /// ```swift
    /// try await broker.removeQueueOptions("uploads")
    /// try broker.queues("uploads", QueueOptions(discipline: .concurrent(8)))
    /// ```
    ///
    /// - Returns: Whether there were some.
    /// - Throws: ``SluiceError`` `invalidPattern`, `closed`; errors of the file, with the options removed.
    @discardableResult
    public func removeQueueOptions(_ pattern: QueuePattern) async throws(SluiceError) -> Bool {
        let form = try pattern.form()
        let removed = try routes.change { table throws(SluiceError) in try table.removeOptions(pattern) }
        guard let removed else { return false }
        if removed.start != nil, isRunning { try await store.forgetBatches(form) }
        return true
    }
}
