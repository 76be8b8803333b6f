extension QueueHandle {
    static var holder: String { "queue handle" }

    /// Stops the queue: no action of it starts, in any process, until ``start()``; running actions continue.
    ///
    /// The stop is a hold in the file, so an empty queue may be stopped too, and remains so after a restart.
    /// A second call changes nothing. The reason has at most 1,000 characters; it should repeat no payload.
    ///
    /// - Throws: ``SluiceError`` `invalidPattern` for a queue with a `*` in its name, `invalidQueueName`,
    ///   `invalidOptions` for a reason that is too long, and errors of the file.
    public func stop(reason: String = "stopped") async throws(SluiceError) {
        _ = try pattern()
        guard reason.unicodeScalars.count <= 1_000 else {
            throw SluiceError(.invalidOptions, "a reason has more than 1,000 characters")
        }
        try await engine.store.stop(name, by: Self.holder, reason: reason)
    }

    /// Starts the queue: ends the hold of ``stop(reason:)``, and tries a waiting or parked head now.
    ///
    /// Other holds and gates still apply. A running broker is needed to run the queue.
    public func start() async throws(SluiceError) {
        _ = try pattern()
        try await engine.store.start(name, by: Self.holder)
        broker.fileEngine.scheduler.hasten(.admitScheduled)
    }

    /// Returns whether ``stop(reason:)`` has stopped the queue; ``Broker/status(of:)`` has all reasons.
    public func isStopped() async throws(SluiceError) -> Bool {
        try await engine.store.isStopped(name, by: Self.holder)
    }

    /// Routes the queue's actions of this type to a closure.
    ///
    /// ``Broker/route(_:_:_:handler:)-(_,A.Type,_,_)`` does so for a pattern.
    public func route(
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) { try broker.route(pattern(), A.self, options, handler: handler) }

    func pattern() throws(SluiceError) -> QueuePattern {
        let pattern = QueuePattern(name.rawValue)
        guard case .exact = try pattern.form() else {
            let message = "'\(name)' has a '*' in it, as a pattern: a handle is on one queue"
            throw SluiceError(.invalidPattern, message)
        }
        return pattern
    }
}
