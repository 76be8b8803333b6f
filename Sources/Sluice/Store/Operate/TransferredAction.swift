internal import SluiceSQLite

/// An action on its way from one file to another, as its program enqueued it.
///
/// Its attempts, errors, waits and idempotency key do not move with it. From the queue of another library,
/// its attempts do.
package struct TransferredAction: Sendable, Hashable {
    /// The most attempts that an imported action may have.
    package static let maximumAttempts: Int64 = 1_000_000_000

    /// Its sequence in the file that it leaves; the other file gives it a new one.
    package var id = ActionID(rawValue: 0)
    package var queue: QueueName
    package var kind: String
    package var sortKey: SortKey
    package var payload: String
    package var version: Int64 = 1
    package var tag: String?
    package var gate: GateName?
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp?
    package var trace: String?
    /// The time when it was first enqueued; `nil` for now.
    package var enqueuedAt: Timestamp?
    /// How often the other file has tried it.
    package var attempts: Int64 = 0
    /// A key by which it is imported once: whatever its policy, the first action is kept.
    package var key: DeduplicationKey?
    package var groups = ActionGroups()

    package init(queue: QueueName, kind: String, sortKey: SortKey, payload: String) {
        (self.queue, self.kind, self.sortKey, self.payload) = (queue, kind, sortKey, payload)
    }

    init(_ row: Row) {
        var columns = row.columns
        let id = ActionID(rawValue: columns.int64())
        self.init(
            queue: QueueName(columns.text()),
            kind: columns.text(),
            sortKey: SortKey(&columns),
            payload: columns.text()
        )
        self.id = id
        version = columns.int64()
        tag = columns.optionalText()
        gate = columns.gate()
        notBefore = columns.optionalTime()
        expiresAt = columns.optionalTime()
        // A shell may write anything there; a value that is not a trace would spoil the whole line.
        trace = columns.optionalText().flatMap { TraceText.fields(of: $0).isEmpty ? nil : $0 }
    }
}

extension TransferredAction {
    /// Refuses an action that no queue can hold.
    func validate(_ coder: PayloadCoder) throws(SluiceError) {
        try queue.validateForActions()
        try validateKind(kind)
        if sortKey.hasNaN { throw SluiceError(.sortKeyNotANumber, "the sort key is not a number") }
        if let tag { try EnqueueOptions.validate(tag: tag) }
        guard version >= 1 else { throw SluiceError(.invalidOptions, "a version must be 1 or more") }
        try gate?.validate()
        try groups.validate()
        if let trace { try TraceText.validate(trace) }
        try key?.validate()
        guard (0...Self.maximumAttempts).contains(attempts) else {
            throw SluiceError(.invalidOptions, "give an action 0 to \(Self.maximumAttempts) attempts")
        }
        try coder.check(RawAction(queue: queue, kind: kind, payload: payload))
    }
}

extension Drafter {
    /// Drafts an action that was exported, as it is: without the options of its queue.
    package func draft(_ action: TransferredAction) throws(SluiceError) -> ActionDraft {
        try action.validate(coder)
        guard let version = Int32(exactly: action.version) else {
            throw SluiceError(.invalidOptions, "a version must be at most \(Int32.max)")
        }
        var draft = ActionDraft(
            queue: action.queue,
            kind: action.kind,
            sortKey: action.sortKey,
            payload: action.payload,
            version: Int(version),
            notBefore: action.notBefore,
            extras: DraftExtras(expiresAt: action.expiresAt, tag: action.tag, gate: action.gate)
        )
        draft.trace = action.trace
        return draft
    }
}
