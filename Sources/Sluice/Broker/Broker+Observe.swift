public import Dispatch
internal import Logging

/// Observing what happens. While nobody observes, events are not even made.
extension Broker {
    /// The events from now on.
    ///
    /// Each call is a subscription of its own with a buffer of its own. What is committed by calls that begin
    /// after this one has returned is among them, in the order of commits.
    ///
    /// - Parameter buffering: How many events wait for a consumer that is slower than the queues.
    public func events(buffering: EventBuffering = .bounded()) -> QueueEvents {
        defer { isObserved() }
        return QueueEvents(observers, buffering)
    }

    /// Calls back for each event from now on, on a dispatch queue, in order and one at a time.
    ///
    /// - Parameters:
    ///   - queue: Where. A concurrent one is fine: no two callbacks overlap.
    ///   - buffering: How many events wait for callbacks that are slower than the queues.
    ///   - body: Called with an event, or with the mark of a gap.
    /// - Returns: What to hold as long as callbacks are wanted. What is told before the broker's close is
    ///   still called back for after it.
    public func observe(
        on queue: DispatchQueue,
        buffering: EventBuffering = .bounded(),
        _ body: @escaping @Sendable (ObservedEvent) -> Void
    ) -> ObservationToken {
        defer { isObserved() }
        return ObservationToken(
            observers,
            ObserverCallbacks(EventBuffer(buffering), schedule: Self.schedule(on: queue), body: body)
        )
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
        return ObservationToken(
            observers,
            ObserverCallbacks(EventBuffer(buffering), schedule: Self.schedule(on: executor), body: body)
        )
    }

    /// Calls back on the committing thread when something in the file may have changed, by whomever.
    ///
    /// What others commit is told within ``BrokerOptions/foreignChangeInterval``, also while this broker does
    /// not run.
    ///
    /// - Parameter body: It may not block. One call may stand for several changes.
    package func observeChanges(_ body: @escaping @Sendable () -> Void) -> ObservationToken {
        defer { isObserved() }
        let subscriber = Observers.Subscriber(receive: { _ in body() }, poke: { _ in body() }, end: {})
        return ObservationToken(observers, subscriber) {}
    }

    /// Logs what a part of the package that is not the library has to say.
    package func note(_ sentence: String) { options.logger.debug("\(sentence)") }

    /// Somebody has begun to observe.
    func isObserved() {
        watchForStalls()
        lookAtOthers()
    }

    /// Hands jobs to a dispatch queue.
    static func schedule(on queue: DispatchQueue) -> @Sendable (@escaping @Sendable () -> Void) -> Void {
        { job in queue.async { job() } }
    }

    /// Hands jobs to an executor.
    static func schedule(
        on executor: any TaskExecutor
    ) -> @Sendable (@escaping @Sendable () -> Void) -> Void {
        { job in _ = Task(executorPreference: executor) { job() } }
    }
}
