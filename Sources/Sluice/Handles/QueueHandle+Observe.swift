public import Dispatch

/// Observing one queue, with the actions that things happen to.
extension QueueHandle {
    /// Calls back when actions are added, removed, cancelled, processed or fail, from now on, on a dispatch
    /// queue, in the order of commits and one at a time.
    ///
    /// ```swift
    /// let token = uploads.observe(on: .main) { notice in
    ///     for item in notice.actions { show(notice.kind, item.action.file) }
    /// }
    /// ```
    ///
    /// What happens to many actions in one commit, as in a call of `add`, is one notice. That other processes
    /// have committed is told a little later, and not what: see ``QueueNotice``. The actions are decoded on
    /// the dispatch queue. An observer that is slower than the queue loses notices (``QueueNotice/lost``) and
    /// holds up nobody.
    ///
    /// - Parameters:
    ///   - queue: Where. A concurrent one is fine: no two callbacks overlap.
    ///   - limit: How many actions wait in notices for callbacks that are slower; at least 1. A notice is
    ///     never split, and one of more actions than this gets its turn when no other waits.
    ///   - body: Called with what has happened.
    /// - Returns: What to hold as long as callbacks are wanted.
    public func observe(
        on queue: DispatchQueue,
        limit: Int = 1_024,
        _ body: @escaping @Sendable (QueueNotice<A>) -> Void
    ) -> ObservationToken {
        observe(limit: limit, schedule: Broker.schedule(on: queue), body)
    }

    /// Calls back when actions are added, removed, cancelled, processed or fail, from now on, on an executor.
    ///
    /// See ``observe(on:limit:_:)-(DispatchQueue,_,_)``.
    public func observe(
        on executor: any TaskExecutor,
        limit: Int = 1_024,
        _ body: @escaping @Sendable (QueueNotice<A>) -> Void
    ) -> ObservationToken {
        observe(limit: limit, schedule: Broker.schedule(on: executor), body)
    }

    private func observe(
        limit: Int,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ body: @escaping @Sendable (QueueNotice<A>) -> Void
    ) -> ObservationToken {
        let (name, reader, interest) = (name, broker.reader, broker.observers.interest)
        let callbacks = ObserverCallbacks(NoticeBuffer(limit: limit), schedule: schedule) { draft in
            body(QueueNotice(draft, of: name, reader))
        }
        let registration = ContentsRegistration(interest, name)
        let subscriber = Observers.Subscriber(
            receiveContents: { events, contents in
                callbacks.receive(NoticeDraft.all(of: name, in: events, contents))
            },
            othersCommitted: {
                callbacks.receive([NoticeDraft(kind: .changed, subjects: [], error: nil)])
            },
            end: {}
        )
        let token = ObservationToken(broker.observers, subscriber) {
            callbacks.cancel()
            registration.end()
        }
        broker.isObserved()
        return token
    }
}
