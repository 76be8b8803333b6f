/// Stopping and starting a queue, and giving it a handler.
extension QueueHandle {
    /// Who holds, as ``Broker/holds()`` and `sluice_holds` name it.
    static var holder: String { "queue handle" }

    /// Stops the queue: nothing of it starts any more, in this process or another, until ``start()``.
    ///
    /// What runs goes on. It is a hold that stands in the file, so that the queue is stopped after a restart
    /// too; it may be stopped before anything is in it. A second call changes nothing. Adding, looking and
    /// taking out go on as before.
    ///
    /// - Parameter reason: Why, as others are to see it; at most 1,000 characters. It should not repeat a
    ///   payload.
    /// - Throws: ``SluiceError/Code/invalidPattern`` for a queue with a `*` in its name,
    ///   ``SluiceError/Code/invalidQueueName``, ``SluiceError/Code/invalidOptions`` for a reason that is too
    ///   long, and errors of the file.
    public func stop(reason: String = "stopped") async throws(SluiceError) {
        _ = try pattern()
        guard reason.unicodeScalars.count <= 1_000 else {
            throw SluiceError(.invalidOptions, "a reason has more than 1,000 characters")
        }
        try await broker.store.stop(name, by: Self.holder, reason: reason)
    }

    /// Starts the queue: what ``stop(reason:)`` has stopped moves again, and a head that waits for its retry
    /// or has parked the queue is tried now.
    ///
    /// Holds of others stand, and gates. A running broker is what runs it.
    public func start() async throws(SluiceError) {
        _ = try pattern()
        try await broker.store.start(name, by: Self.holder)
        broker.scheduler.hasten(.admitScheduled)
    }

    /// Whether ``stop(reason:)`` has stopped the queue.
    ///
    /// ``Broker/status(of:)`` tells all that keeps it from moving.
    public func isStopped() async throws(SluiceError) -> Bool {
        try await broker.store.isStopped(name, by: Self.holder)
    }

    /// Has a closure run the queue's actions of this type, while the broker runs.
    ///
    /// See ``Broker/route(_:_:_:handler:)``; a pattern serves many queues at once.
    public func route(
        _ options: RouteOptions = RouteOptions(),
        handler: @escaping @Sendable (A, Attempt) async throws -> Outcome
    ) throws(SluiceError) {
        try broker.route(pattern(), A.self, options, handler: handler)
    }

    /// The queue's name as a pattern, which means it alone.
    func pattern() throws(SluiceError) -> QueuePattern {
        let pattern = QueuePattern(name.rawValue)
        guard case .exact = try pattern.form() else {
            throw SluiceError(
                .invalidPattern,
                "'\(name)' has a '*' in it, as a pattern: a handle is on one queue"
            )
        }
        return pattern
    }
}
