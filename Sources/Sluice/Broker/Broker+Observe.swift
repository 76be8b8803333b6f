public import Dispatch
internal import Logging

/// Observing what happens; without observers, events are not created.
extension Broker {
    /// Returns the events, in the order of commits, of all calls that begin after this one has returned.
    ///
    /// Each sequence has a buffer of its own, for events that wait for a slower consumer. On a server they
    /// are those of this process's attempts and skips.
    public func events(buffering: EventBuffering = .bounded()) -> QueueEvents {
        defer { engine.isObserved() }
        return QueueEvents(engine.observers, buffering)
    }

    /// Returns the states of the actions of a selection, and after each change the differences.
    ///
    /// ```swift
    /// for try await update in broker.observe(actions: .tag("message-7")) {
    ///     for state in update.states { show(state) }
    /// }
    /// ```
    ///
    /// Living actions and dead letters are covered. The first element is a snapshot of all, and the next ones
    /// have the differences from it, also by other processes and by SQL: see <doc:ObservingState>. The states
    /// have no ``ActionState/ahead`` and ``ActionState/because``. A date that passes is no change.
    ///
    /// - Parameters:
    ///   - selection: Which actions are observed.
    ///   - position: The states that the consumer knows, by an earlier element: the first element has the
    ///     differences from them, perhaps none.
    public func observe(
        actions selection: ActionSelection,
        after position: ActionPosition? = nil
    ) -> ActionUpdates {
        engine.observe(actions: selection, after: position)
    }

    /// Returns the statuses of the queues of a pattern, and after each change the differences.
    ///
    /// The queues with work are covered. It does for many queues what ``statusUpdates(of:)`` does for one,
    /// with snapshots and differences as ``observe(actions:after:)`` gives them: see <doc:ObservingState>.
    ///
    /// - Parameters:
    ///   - pattern: Which queues are observed.
    ///   - position: The statuses that the consumer knows, by an earlier element.
    public func observe(
        statuses pattern: QueuePattern,
        after position: StatusPosition? = nil
    ) -> QueueStatusListUpdates {
        engine.observe(statuses: pattern, after: position)
    }

    /// Calls back for each event, or gap, from now on, on a dispatch queue, in order and one at a time.
    ///
    /// A concurrent queue is fine: callbacks do not overlap. Events wait in a buffer for slower callbacks.
    /// Callbacks end when the token is released; events from before the broker's close are still delivered.
    public func observe(
        on queue: DispatchQueue,
        buffering: EventBuffering = .bounded(),
        _ body: @escaping @Sendable (ObservedEvent) -> Void
    ) -> ObservationToken {
        defer { engine.isObserved() }
        let buffer = EventBuffer(buffering)
        let callbacks = ObserverCallbacks(buffer, schedule: Self.schedule(on: queue), body: body)
        return ObservationToken(engine.observers, callbacks)
    }

    /// Calls back on an executor, as ``observe(on:buffering:_:)-(DispatchQueue,_,_)`` on a dispatch queue.
    public func observe(
        on executor: any TaskExecutor,
        buffering: EventBuffering = .bounded(),
        _ body: @escaping @Sendable (ObservedEvent) -> Void
    ) -> ObservationToken {
        defer { engine.isObserved() }
        let buffer = EventBuffer(buffering)
        let callbacks = ObserverCallbacks(buffer, schedule: Self.schedule(on: executor), body: body)
        return ObservationToken(engine.observers, callbacks)
    }

    /// Calls back on the main actor, as ``observe(on:buffering:_:)-(DispatchQueue,_,_)`` on a queue.
    ///
    /// ```swift
    /// token = broker.observeOnMain { [weak self] event in self?.receive(event) }   // in a @MainActor class
    /// ```
    ///
    /// After ``ObservationToken/cancel()`` on the main actor, no callback begins or runs.
    public func observeOnMain(
        buffering: EventBuffering = .bounded(),
        _ body: @escaping @MainActor (ObservedEvent) -> Void
    ) -> ObservationToken {
        defer { engine.isObserved() }
        let buffer = EventBuffer(buffering)
        let callbacks = ObserverCallbacks(buffer, schedule: Self.scheduleOnMain) { event in
            MainActor.assumeIsolated { body(event) }
        }
        return ObservationToken(engine.observers, callbacks)
    }

    /// Calls back on the committing thread when the file may have changed, whoever changed it.
    ///
    /// Commits of others are reported within ``FileOptions/foreignChangeInterval``, also while this broker
    /// does not run. One call may represent several changes; it must not block.
    package func observeChanges(_ body: @escaping @Sendable () -> Void) -> ObservationToken {
        defer { engine.isObserved() }
        let subscriber = Observers.Subscriber(receive: { _ in body() }, poke: { _ in body() }, end: {})
        return ObservationToken(engine.observers, subscriber) {}
    }

    package func note(_ sentence: String) { options.logger.debug("\(sentence)") }

    static func schedule(on queue: DispatchQueue) -> @Sendable (@escaping @Sendable () -> Void) -> Void {
        { job in queue.async { job() } }
    }

    static func schedule(on target: any TaskExecutor) -> @Sendable (@escaping @Sendable () -> Void) -> Void {
        { job in _ = Task(executorPreference: target) { job() } }
    }

    /// A task and not the main dispatch queue: in its job the main actor is current on every system.
    static let scheduleOnMain: @Sendable (@escaping @Sendable () -> Void) -> Void = { job in
        _ = Task { @MainActor in job() }
    }
}
