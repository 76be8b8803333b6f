#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action at one moment: what it does or waits for, or how it ended.
///
/// ```swift
/// switch try await broker.action(receipt.id).phase {
/// case .retrying(let date): "trying again at \(date)"
/// case .parked, .dead: "not sent"
/// case .ended(.removed): "cancelled"
/// case .ended: "sent"
/// default: "sending"
/// }
/// ```
public struct ActionState: Sendable, Hashable, Identifiable, CustomStringConvertible {
    /// What an action does or waits for.
    ///
    /// Later versions may add cases: a `switch` of an application needs a `default`.
    #if hasAttribute(nonexhaustive)
    @nonexhaustive
    #endif
    public enum Phase: Sendable, Hashable {
        /// It waits for its turn: see ``ActionState/ahead`` and ``ActionState/because``.
        case waiting
        /// It is scheduled for a date, and does not hold up its queue until then.
        case scheduled(for: Date)
        /// Its handler runs.
        case running(since: Date)
        /// Its last attempt failed or was given back, and the next one is due at a date.
        ///
        /// A hold, a gate or a parked queue can keep it longer: see ``Broker/status(of:)``.
        case retrying(at: Date)
        /// It has parked its queue; the error is ``ActionState/lastError``.
        case parked(FailureCause?, since: Date)
        /// It is a dead letter; the error is ``ActionState/lastError``.
        case dead(FailureCause, at: Date)
        /// It is not in the file any more.
        ///
        /// ``ActionEnd/succeeded`` is known of the last ``Broker/rememberedOutcomes`` actions that this
        /// process has settled, and while the file keeps the action's ``DeduplicationKey``.
        case ended(ActionEnd)
    }

    /// The action's number.
    public let id: ActionID
    /// What it does or waits for.
    public internal(set) var phase: Phase
    /// How many actions of its queue a waiting action waits after; `nil` in other phases.
    ///
    /// ``Broker/action(_:)`` and ``Broker/actions(tag:limit:)`` count them; observations do not.
    public internal(set) var ahead: Int?
    /// Why the queue of a waiting action does not move, as in ``QueueStatus/because``.
    ///
    /// Mostly its head waits for something. It is empty in other phases, and in observations.
    public internal(set) var because: [WaitReason] = []
    /// The values of an action that is in the file; `nil` if it has ended.
    ///
    /// An observation keeps the last ones of an action that has ended.
    public let details: Details?

    package init(
        id: ActionID,
        phase: Phase,
        ahead: Int? = nil,
        because: [WaitReason] = [],
        details: Details?
    ) {
        (self.id, self.phase, self.ahead, self.because) = (id, phase, ahead, because)
        self.details = details
    }
    /// The error of the last failed attempt, or of the dead letter.
    public var lastError: String? { details?.lastError }

    /// The values of an action that waits, runs or is a dead letter.
    public struct Details: Sendable, Hashable, CustomStringConvertible {
        /// The action's queue.
        public let queue: QueueName
        /// The action's kind.
        public let kind: String
        /// The action's sort key.
        public let sortKey: SortKey
        /// The action's tag, if any.
        public let tag: String?
        /// The gate that it was enqueued with, if any.
        public let gate: GateName?
        /// Its deduplication key, if any.
        public let key: String?
        /// The groups that it starts: see ``EnqueueOptions/startsGroups``.
        public var startsGroups: [GroupName] { groups.started }
        /// The groups that it is a member of.
        public var memberOf: [GroupName] { groups.joined }
        /// The fields that the enqueuer's middleware has stored in ``EnqueueContext/trace``.
        public var trace: [String: String] { TraceText.fields(of: storedTrace) }
        /// The time after which it does not start, if any; `nil` for a dead letter.
        public let expiresAt: Date?
        /// The version of its kind in which the payload was written.
        public var version: Int { stored.version }
        /// When it was enqueued.
        public let enqueuedAt: Date
        /// Attempts that count, including the running one.
        public let attempts: Int
        /// The error of the last failed attempt, or of the dead letter.
        public let lastError: String?
        let stored: StoredPayload
        private let groups: ActionGroups
        private let storedTrace: String?

        package init(
            queue: QueueName,
            kind: String,
            sortKey: SortKey,
            tag: String?,
            gate: GateName?,
            key: String?,
            groups: ActionGroups = ActionGroups(),
            trace: String?,
            expiresAt: Date?,
            enqueuedAt: Date,
            attempts: Int,
            lastError: String?,
            stored: StoredPayload
        ) {
            (self.queue, self.kind, self.sortKey, self.tag, self.gate) = (queue, kind, sortKey, tag, gate)
            (self.key, self.groups, storedTrace) = (key, groups, trace)
            (self.expiresAt, self.enqueuedAt) = (expiresAt, enqueuedAt)
            (self.attempts, self.lastError, self.stored) = (attempts, lastError, stored)
        }
        /// The payload: JSON text, or as it is sealed.
        public var payload: String { stored.text }
        /// Whether the payload is sealed (<doc:Security>).
        package var isSealed: Bool { SealedPayload.isSealed(stored.text) }
        /// Kind and queue, without the payload (G13).
        public var description: String { "\(kind) of \(queue)" }
    }

    /// Returns the payload as a type, upgraded and opened as for a handler.
    ///
    /// - Returns: `nil` if there are no ``details``.
    /// - Throws: ``SluiceError/Code/undecodable``, also if the action is of another kind.
    public func payload<A: Action>(as type: A.Type) throws(SluiceError) -> A? {
        guard let details else { return nil }
        let stored = details.stored
        switch stored.reader.read(type, stored.text, ofAnyKind: details.kind, version: stored.version) {
        case .success(let value): return value
        case .failure(let why):
            throw SluiceError(.undecodable, "action \(id) of '\(details.queue)': \(why.reason)")
        }
    }

    /// Number, queue and phase, without the payload (G13).
    public var description: String {
        "action \(id)\(details.map { " of \($0.queue)" } ?? ""): \(phase)"
    }
}
