public import Dispatch

extension QueueHandle {
    /// Calls back on a dispatch queue when actions are added, removed, cancelled, processed or fail.
    ///
    /// ```swift
    /// let token = uploads.observe(on: .main) { notice in
    ///     for item in notice.actions { show(notice.kind, item.action.file) }
    /// }
    /// ```
    ///
    /// The callbacks are in the order of commits and one at a time, until the token is released. Changes of
    /// many actions in one commit are one notice. Commits of other processes are reported a little later and
    /// without details: see ``QueueNotice``. The actions are decoded on the dispatch queue, which may be
    /// concurrent. An observer that is slower than the queue delays nothing and loses notices
    /// (``QueueNotice/lost``).
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run.
    ///   - limit: How many actions may wait in notices for slower callbacks; at least 1. A notice is never
    ///     split; one with more actions is delivered when no other waits.
    ///   - body: Is called with each notice.
    public func observe(
        on queue: DispatchQueue,
        limit: Int = 1_024,
        _ body: @escaping @Sendable (QueueNotice<A>) -> Void
    ) -> ObservationToken { observe(limit: limit, schedule: Broker.schedule(on: queue), body) }

    /// Calls back on an executor, as ``observe(on:limit:_:)-(DispatchQueue,_,_)`` does on a dispatch queue.
    public func observe(
        on executor: any TaskExecutor,
        limit: Int = 1_024,
        _ body: @escaping @Sendable (QueueNotice<A>) -> Void
    ) -> ObservationToken { observe(limit: limit, schedule: Broker.schedule(on: executor), body) }

    /// Calls back on the main actor, as ``observe(on:limit:_:)-(DispatchQueue,_,_)`` on a dispatch queue.
    public func observeOnMain(
        limit: Int = 1_024,
        _ body: @escaping @MainActor (QueueNotice<A>) -> Void
    ) -> ObservationToken {
        observe(limit: limit, schedule: Broker.scheduleOnMain) { notice in
            MainActor.assumeIsolated { body(notice) }
        }
    }

    private func observe(
        limit: Int,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        _ body: @escaping @Sendable (QueueNotice<A>) -> Void
    ) -> ObservationToken {
        let (name, reader, interest) = (name, broker.book.reader, broker.engine.observers.interest)
        let callbacks = ObserverCallbacks(NoticeBuffer(limit: limit), schedule: schedule) { draft in
            body(QueueNotice(draft, of: name, reader))
        }
        let registration = ContentsRegistration(interest, name)
        let subscriber = Observers.Subscriber(
            receiveContents: { callbacks.receive(NoticeDraft.all(of: name, in: $0, $1)) },
            asksForOthers: true,
            othersCommitted: { callbacks.receive([NoticeDraft(kind: .changed, subjects: [], error: nil)]) },
            end: {}
        )
        defer { broker.engine.isObserved() }
        return ObservationToken(broker.engine.observers, subscriber) {
            callbacks.cancel()
            registration.end()
        }
    }
}
