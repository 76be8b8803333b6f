public import Dispatch

/// Observing what happens. While nobody observes, events are not even made.
extension Broker {
    /// The events from now on.
    ///
    /// Each call is a subscription of its own with a buffer of its own. What is committed by calls that begin
    /// after this one has returned is among them, in the order of commits.
    ///
    /// - Parameter buffering: How many events wait for a consumer that is slower than the queues.
    public func events(buffering: EventBuffering = .bounded()) -> QueueEvents {
        defer { watchForStalls() }
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
        let callbacks = EventCallbacks(buffering, schedule: { job in queue.async { job() } }, body: body)
        defer { watchForStalls() }
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
        let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void = { job in
            _ = Task(executorPreference: executor) { job() }
        }
        defer { watchForStalls() }
        return ObservationToken(observers, EventCallbacks(buffering, schedule: schedule, body: body))
    }
}
