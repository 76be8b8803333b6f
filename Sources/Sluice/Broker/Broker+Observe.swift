public import Dispatch
internal import Logging

/// Observing what happens; without observers, events are not created.
extension Broker {
    /// Returns the events from now on, as a subscription with a buffer of its own.
    ///
    /// It includes the commits of all calls that begin after this one has returned, in the order of commits.
    ///
    /// - Parameter buffering: How many events wait for a consumer that is slower than the queues.
    public func events(buffering: EventBuffering = .bounded()) -> QueueEvents {
        defer { isObserved() }
        return QueueEvents(observers, buffering)
    }

    /// Calls back for each event from now on, on a dispatch queue, in order and one at a time.
    ///
    /// - Parameters:
    ///   - queue: The queue. A concurrent queue is fine: callbacks do not overlap.
    ///   - buffering: How many events wait for callbacks that are slower than the queues.
    ///   - body: Called with an event, or with the mark of a gap.
    /// - Returns: A token; callbacks end when it is released. Events from before the broker's close are
    ///   delivered even after it.
    public func observe(
        on queue: DispatchQueue,
        buffering: EventBuffering = .bounded(),
        _ body: @escaping @Sendable (ObservedEvent) -> Void
    ) -> ObservationToken {
        defer { isObserved() }
        let buffer = EventBuffer(buffering)
        let callbacks = ObserverCallbacks(buffer, schedule: Self.schedule(on: queue), body: body)
        return ObservationToken(observers, callbacks)
    }

    /// Calls back for each event from now on, on an executor, in order and one at a time.
    ///
    /// See ``observe(on:buffering:_:)-(DispatchQueue,_,_)``.
    public func observe(
        on executor: any TaskExecutor,
        buffering: EventBuffering = .bounded(),
        _ body: @escaping @Sendable (ObservedEvent) -> Void
    ) -> ObservationToken {
        defer { isObserved() }
        let buffer = EventBuffer(buffering)
        let callbacks = ObserverCallbacks(buffer, schedule: Self.schedule(on: executor), body: body)
        return ObservationToken(observers, callbacks)
    }

    /// Calls back on the committing thread when the file may have changed, whoever changed it.
    ///
    /// Commits of others are reported within ``FileOptions/foreignChangeInterval``, also while this broker
    /// does not run. One call may represent several changes; it must not block.
    package func observeChanges(_ body: @escaping @Sendable () -> Void) -> ObservationToken {
        defer { isObserved() }
        let subscriber = Observers.Subscriber(receive: { _ in body() }, poke: { _ in body() }, end: {})
        return ObservationToken(observers, subscriber) {}
    }

    package func note(_ sentence: String) { options.logger.debug("\(sentence)") }

    func isObserved() {
        watchForStalls()
        lookAtOthers()
    }

    static func schedule(on queue: DispatchQueue) -> @Sendable (@escaping @Sendable () -> Void) -> Void {
        { job in queue.async { job() } }
    }

    static func schedule(
        on executor: any TaskExecutor
    ) -> @Sendable (@escaping @Sendable () -> Void) -> Void {
        { job in _ = Task(executorPreference: executor) { job() } }
    }
}
