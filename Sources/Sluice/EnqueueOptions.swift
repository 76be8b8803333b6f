#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Options of an enqueue: of a call, or of an action's type by ``Action/options``.
///
/// ```swift
/// try await broker.enqueue(upload, EnqueueOptions(expiresAt: link.validUntil, tag: "album-7"))
/// try await broker.enqueue(refresh, EnqueueOptions(key: "refresh"))   // once, as long as it waits or runs
/// ```
public struct EnqueueOptions: Sendable, Hashable {
    /// The most bytes of UTF-8 that a tag can have.
    public static let maximumTagByteCount = 255
    /// When the action is due; until then it blocks nothing; by default at once.
    public var notBefore: Date?
    /// When the action expires, by the wall clock: then it does not start; see ``FailureCause/expired``.
    public var expiresAt: Date?
    /// A name by which the application finds the action, alone or with others; 1 to 255 bytes without NUL.
    public var tag: String?
    /// A gate that must be open for the action to start, in addition to those of its route.
    public var gate: GateName?
    /// A key that prevents a second enqueue of the same action.
    public var key: DeduplicationKey?
    /// Groups that the action starts, at most 64; see ``QueueDiscipline/passOver``.
    public var startsGroups: [GroupName] = []
    /// Groups that the action is a member of, at most 64.
    public var memberOf: [GroupName] = []

    /// Makes a set of options; they are checked when they are used.
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

    func validate() throws(SluiceError) {
        if let tag { try Self.validate(tag: tag) }
        try gate?.validate()
        try groups.validate()
        try key?.validate()
    }

    package func due(_ date: Date?) -> EnqueueOptions {
        guard let date else { return self }
        var options = self
        options.notBefore = date
        return options
    }

    /// Returns these options, with another's value for each field that is not set.
    func completed(by other: EnqueueOptions) -> EnqueueOptions {
        EnqueueOptions(
            notBefore: notBefore ?? other.notBefore,
            expiresAt: expiresAt ?? other.expiresAt,
            tag: tag ?? other.tag,
            gate: gate ?? other.gate,
            key: key ?? other.key,
            startsGroups: startsGroups.isEmpty ? other.startsGroups : startsGroups,
            memberOf: memberOf.isEmpty ? other.memberOf : memberOf
        )
    }

    package static func validate(tag: String) throws(SluiceError) {
        try SluiceError.check(tag, limit: maximumTagByteCount, .invalidOptions, "a tag")
    }

    /// The values for columns that most actions leave empty; `nil` when there are none.
    var extras: DraftExtras? {
        guard hasExtras else { return nil }
        return DraftExtras(
            expiresAt: expiresAt.map(Timestamp.init),
            tag: tag,
            gate: gate,
            key: key,
            groups: hasGroups ? groups : nil
        )
    }

    private var hasGroups: Bool { !startsGroups.isEmpty || !memberOf.isEmpty }

    private var hasExtras: Bool {
        hasGroups || expiresAt != nil || tag != nil || gate != nil || key != nil
    }

    /// Whether no option is set.
    var isEmpty: Bool { notBefore == nil && !hasExtras }

    private var groups: ActionGroups { ActionGroups(started: startsGroups, joined: memberOf) }
}

/// A caller's name for an action, which prevents a second enqueue.
///
/// A key is unique in the queue that its action waits in, and moves with the action. It is taken while the
/// action waits or runs, and for ``retention`` after that. A requeued dead letter gets it again, if free.
public struct DeduplicationKey: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// What happens when the key is taken.
    public enum Policy: Sendable, Hashable, CaseIterable {
        /// Store nothing; the call returns the number of the action that has the key.
        case keepFirst
        /// Replace the first action or follow it.
        ///
        /// If that action waits, it gets the new one's kind, payload, tag, gate and expiry. It keeps its
        /// number, place, attempts and wait. A queue that it has parked stays parked, unless its payload did
        /// not decode; ``Broker/retryNow(_:)`` tries the new payload. If that action runs or has been
        /// settled, the new action is enqueued after it and takes the key.
        case replace
        /// Throw ``SluiceError/Code/duplicateKey``.
        case refuse
    }

    /// The most bytes of UTF-8 that a key can have.
    public static let maximumByteCount = 255
    /// The key: 1 to 255 bytes without NUL, compared by its bytes.
    public var text: String
    /// What happens when the key is taken.
    public var policy: Policy
    /// How long the key stays taken after the action has ended, by the wall clock; zero by default.
    public var retention: Duration

    /// Makes a key; it is checked when it is used.
    public init(_ text: String, policy: Policy = .keepFirst, retention: Duration = .zero) {
        self.text = text
        self.policy = policy
        self.retention = retention
    }

    /// Makes a key that keeps the first action as long as it waits or runs.
    public init(stringLiteral value: String) { self.init(value) }

    func validate() throws(SluiceError) {
        try SluiceError.check(text, limit: Self.maximumByteCount, .invalidOptions, "a deduplication key")
        guard retention >= .zero else {
            throw SluiceError(.invalidOptions, "the retention of a deduplication key is negative")
        }
    }
}
