#if PostgreSQL
internal import Logging
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Enqueuing; when a call returns, the action is as durable as a commit of the server (G1).
extension PostgresBroker {
    /// Enqueues an action: see `Broker/enqueue(_:_:notBefore:)`.
    ///
    /// - Throws: As there; `SluiceError/Code/unknownCommit` if the connection was lost at the commit and
    ///   the server could not be asked for half a minute (G14).
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        notBefore date: Date? = nil
    ) async throws -> EnqueueReceipt {
        let draft = try book.drafter.draft(action, options.due(date))
        return EnqueueReceipt(id: try await store([draft])[0], broker: self)
    }

    /// Enqueues actions of one type, all or none: see `Broker/enqueue(_:_:options:)`.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        options: ((A) throws -> EnqueueOptions)? = nil
    ) async throws -> [ActionID] {
        try await store(actions.map { try book.drafter.draft($0, options?($0) ?? shared) })
    }

    /// Enqueues actions of several types, all or none, in their order.
    @discardableResult
    public func enqueue(
        contentsOf actions: [any Action],
        _ shared: EnqueueOptions = EnqueueOptions()
    ) async throws -> [ActionID] {
        try await store(actions.map { action in try book.drafter.draft(action, shared) })
    }

    /// Enqueues actions of kinds known at run time only: see `Broker/enqueue(raw:_:options:)`.
    @discardableResult
    public func enqueue(
        raw actions: some Sequence<RawAction>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        options: ((RawAction) throws -> EnqueueOptions)? = nil
    ) async throws -> [ActionID] {
        try await store(actions.map { try book.drafter.draft($0, options?($0) ?? shared) })
    }

    /// Submits an action to be stored soon, in the order of the calls: see `Broker/submit(_:_:onError:)`.
    public func submit<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        onError: (@Sendable (SluiceError) -> Void)? = nil
    ) {
        let (queue, kind, logger) = (action.queue, A.kind, self.options.logger)
        let report: @Sendable (SluiceError) -> Void =
            onError ?? { error in
                let facts: Logger.Metadata = ["error": "\(error)", "queue": "\(queue)", "kind": "\(kind)"]
                logger.error("a submitted action is not stored", metadata: facts)
            }
        do throws(SluiceError) {
            let draft = try book.drafter.draft(action, options)
            enqueuer.add(
                PostgresEnqueuer.Call(drafts: [draft]) { [weak self] result in
                    if case .failure(let error) = result { report(error) } else { self?.changed() }
                }
            )
        } catch {
            report(error)
        }
    }

    private func store(_ drafts: [ActionDraft]) async throws -> [ActionID] {
        try ensureSupported(drafts)
        return try await Sluice.enqueue(drafts, through: options.middleware) { [self] drafts in
            let ids = try await enqueuer.enqueue(drafts)
            changed()
            return ids
        }
    }

    func ensureSupported(_ drafts: [ActionDraft]) throws(SluiceError) {
        if drafts.contains(where: { $0.extras?.groups != nil }) {
            throw SluiceError(.unsupported, "groups of actions need a broker on a file")
        }
    }
}
#endif
