/// Checks and encodes actions to enqueue, by the options of their queues.
package final class Drafter: Sendable {
    let coder: PayloadCoder
    private let routes: Routes
    private let clock: any BrokerClock

    init(_ coder: PayloadCoder, _ routes: Routes, _ clock: any BrokerClock) {
        (self.coder, self.routes, self.clock) = (coder, routes, clock)
    }

    package func options(of queue: QueueName) -> QueueOptions? { routes.admission.queues.options(of: queue) }

    /// Drafts an action with the options of a call, for a queue, or for its own if that is `nil`.
    package func draft<A: Action>(
        _ action: A,
        in queue: QueueName? = nil,
        _ options: EnqueueOptions
    ) throws(SluiceError) -> ActionDraft {
        let extras = options.extras
        if extras != nil { try options.validate() }
        return try draft(action, in: queue, options, options.notBefore.map(Timestamp.init), extras)
    }

    /// Drafts an action with valid options of a call, of which two are converted once for all its actions.
    func draft<A: Action>(
        _ action: A,
        in queue: QueueName? = nil,
        _ options: EnqueueOptions,
        _ notBefore: Timestamp?,
        _ extras: DraftExtras?
    ) throws(SluiceError) -> ActionDraft {
        let own = action.options
        let (notBefore, extras) =
            own.isEmpty ? (notBefore, extras) : try Self.extras(of: options.completed(by: own))
        let (queue, key) = (queue ?? action.queue, action.sortKey)
        let rules = try check(queue, A.kind, A.version, key)
        return ActionDraft(
            queue: queue,
            kind: A.kind,
            sortKey: key,
            fixesSortKind: rules?.sortKey != nil,
            payload: try coder.stored(action),
            version: A.version,
            notBefore: notBefore,
            depthLimit: rules?.maximumDepth,
            extras: expiring(extras, by: rules, notBefore)
        )
    }

    private static func extras(
        of options: EnqueueOptions
    ) throws(SluiceError) -> (notBefore: Timestamp?, extras: DraftExtras?) {
        try options.validate()
        return (options.notBefore.map(Timestamp.init), options.extras)
    }

    /// Adds the expiry of the queue's options to an action without one.
    private func expiring(
        _ extras: DraftExtras?,
        by options: QueueOptions?,
        _ notBefore: Timestamp?
    ) -> DraftExtras? {
        guard let age = options?.expiresAfter, extras?.expiresAt == nil else { return extras }
        let now = clock.now
        return DraftExtras(
            expiresAt: max(notBefore ?? now, now) + age,
            tag: extras?.tag,
            gate: extras?.gate,
            key: extras?.key,
            groups: extras?.groups
        )
    }

    package func draft(_ action: RawAction, _ extra: EnqueueOptions) throws(SluiceError) -> ActionDraft {
        let options = try check(action.queue, action.kind, action.version, action.sortKey)
        try extra.validate()
        let notBefore = extra.notBefore.map(Timestamp.init)
        return ActionDraft(
            queue: action.queue,
            kind: action.kind,
            sortKey: action.sortKey,
            fixesSortKind: options?.sortKey != nil,
            payload: try coder.stored(action),
            version: action.version,
            notBefore: notBefore,
            depthLimit: options?.maximumDepth,
            extras: expiring(extra.extras, by: options, notBefore)
        )
    }

    /// Refuses a payload that an action cannot be given.
    package func checkEdit(_ payload: String, of action: ActionID) throws(SluiceError) {
        try coder.check(payload, of: "the edit of action \(action)")
    }

    /// Seals a payload, if payloads are sealed.
    package func seal(_ payload: String, _ context: SealingContext) throws(SluiceError) -> String {
        try coder.seal(payload, context)
    }

    /// Refuses an action that no queue can hold, and returns the queue's options.
    private func check(
        _ queue: QueueName,
        _ kind: String,
        _ version: Int,
        _ key: SortKey
    ) throws(SluiceError) -> QueueOptions? {
        try queue.validateForActions()
        try validateKind(kind)
        try validateVersion(version, of: kind)
        if key.hasNaN {
            throw SluiceError(
                .sortKeyNotANumber,
                "the sort key of an action for the queue '\(queue)' is not a number"
            )
        }
        let options = options(of: queue)
        if let kind = options?.sortKey, kind != key.kind {
            throw SluiceError(
                .sortKeyMismatch,
                "the queue '\(queue)' is ordered by \(kind.rawValue), as its options say; the action's key "
                    + "is \(key.kind): give it one of \(kind.rawValue)"
            )
        }
        return options
    }
}
