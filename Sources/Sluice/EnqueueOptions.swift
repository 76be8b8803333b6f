#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// What is asked for an action beside what its type says.
///
/// ```swift
/// try await broker.enqueue(upload, EnqueueOptions(expiresAt: link.validUntil, tag: "album-7"))
/// try await broker.enqueue(refresh, EnqueueOptions(key: "refresh"))   // once, as long as it waits or runs
/// ```
public struct EnqueueOptions: Sendable, Hashable {
    /// The most bytes of UTF-8 that a tag can have.
    public static let maximumTagByteCount = 255

    /// When it takes its place in the queue's order; until then it blocks nothing.
    ///
    /// `nil`, the default, is at once.
    public var notBefore: Date?

    /// After this, by the wall clock, it is not started any more: what follows is said by the policy of its
    /// route for ``FailureCause/expired``.
    ///
    /// An attempt that runs then is not touched. `nil`, the default, is never.
    public var expiresAt: Date?

    /// A name under which the application finds the action again, alone or among others; 1 to 255 bytes
    /// without NUL.
    public var tag: String?

    /// A gate that must be open for the action to start, beside those of its route.
    public var gate: GateName?

    /// A key by which the action is enqueued once.
    public var key: DeduplicationKey?

    /// Groups that the action starts, at most 64: in a queue whose discipline is
    /// ``QueueDiscipline/passOver``, their members are passed over as long as it stands before them.
    public var startsGroups: [GroupName] = []

    /// Groups that it is a member of, at most 64.
    public var memberOf: [GroupName] = []

    /// Makes a set of options; they are checked where they are used.
    public init(
        notBefore: Date? = nil,
        expiresAt: Date? = nil,
        tag: String? = nil,
        gate: GateName? = nil,
        key: DeduplicationKey? = nil,
        startsGroups: [GroupName] = [],
        memberOf: [GroupName] = []
    ) {
        self.startsGroups = startsGroups
        self.memberOf = memberOf
        self.notBefore = notBefore
        self.expiresAt = expiresAt
        self.tag = tag
        self.gate = gate
        self.key = key
    }
}

/// A caller's name for an action, so that it is enqueued once.
///
/// A key counts in the queue that its action waits in: it goes along when the action is moved. It is taken
/// while the action waits or runs and for ``retention`` after it has gone, whether it succeeded, was removed
/// or became a dead letter; a dead letter that is put back takes its key back, if nobody has taken it since.
public struct DeduplicationKey: Sendable, Hashable {
    /// What happens when the key is taken.
    public enum Policy: Sendable, Hashable, CaseIterable {
        /// Nothing is stored; the call returns the number of the action that has the key, be it stored or
        /// settled.
        case keepFirst
        /// If that action waits, it gets the new one's kind, payload, tag, gate and expiry, and keeps its
        /// number, its place, its attempts and its wait. If it has parked its queue, the queue stays
        /// parked, unless it was for a payload that did not decode: ``Broker/retryNow(_:)`` has the new one
        /// tried. If it runs or has been settled, the new action is
        /// enqueued behind it and has the key from now on.
        case replace
        /// The call throws ``SluiceError/Code/duplicateKey``.
        case refuse
    }

    /// The most bytes of UTF-8 that a key can have.
    public static let maximumByteCount = 255

    /// The key: 1 to 255 bytes without NUL, compared by its bytes.
    public var text: String
    /// What happens when the key is taken.
    public var policy: Policy
    /// How long the key stays taken when the action has gone, by the wall clock.
    ///
    /// Zero, the default: not at all.
    public var retention: Duration

    /// Makes a key; it is checked where it is used.
    public init(_ text: String, policy: Policy = .keepFirst, retention: Duration = .zero) {
        self.text = text
        self.policy = policy
        self.retention = retention
    }
}

extension DeduplicationKey: ExpressibleByStringInterpolation {
    /// Makes a key that keeps the first action, for as long as that waits or runs.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

extension DeduplicationKey {
    /// Throws ``SluiceError/Code/invalidOptions`` unless it is within its limits.
    func validate() throws(SluiceError) {
        guard (1...Self.maximumByteCount).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw SluiceError(
                .invalidOptions,
                "a deduplication key must have 1 to \(Self.maximumByteCount) bytes and no NUL"
            )
        }
        guard retention >= .zero else {
            throw SluiceError(.invalidOptions, "the retention of a deduplication key is negative")
        }
    }
}

extension EnqueueOptions {
    /// Throws ``SluiceError/Code/invalidOptions`` or ``SluiceError/Code/invalidGate`` unless all are within
    /// their limits.
    func validate() throws(SluiceError) {
        if let tag { try Self.validate(tag: tag) }
        try gate?.validate()
        try groups.validate()
        try key?.validate()
    }

    static func validate(tag: String) throws(SluiceError) {
        guard (1...maximumTagByteCount).contains(tag.utf8.count), !tag.utf8.contains(0) else {
            throw SluiceError(
                .invalidOptions,
                "a tag must have 1 to \(maximumTagByteCount) bytes and no NUL"
            )
        }
    }

    /// What is stored in columns that most actions leave empty; `nil` when nothing is.
    var extras: DraftExtras? {
        let groups: ActionGroups? = self.groups.isEmpty ? nil : self.groups
        let hasSome = expiresAt != nil || tag != nil || gate != nil || key != nil
        guard hasSome || groups != nil else { return nil }
        return DraftExtras(
            expiresAt: expiresAt.map(Timestamp.init),
            tag: tag,
            gate: gate,
            key: key,
            groups: groups
        )
    }

    private var groups: ActionGroups { ActionGroups(started: startsGroups, joined: memberOf) }
}
