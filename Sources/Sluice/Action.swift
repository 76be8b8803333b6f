/// A unit of work with a queue and a sort key.
///
/// ```swift
/// struct SendMessage: Action {
///     static let kind = "send-message"
///     var conversation: String
///     var sentAt: Date
///     var text: String
///     var queue: QueueName { "conversation/\(conversation)" }
///     var sortKey: SortKey { .date(sentAt) }
/// }
/// ```
///
/// The stored properties are the payload. It is stored as JSON text, so that `payload ->> '$.text'` works in
/// SQL; ``BrokerOptions/payloadDates`` says how a `Date` is written. The order of keys is not promised.
/// `encode(to:)` and `init(from:)` may be called twice for one payload.
public protocol Action: Codable, Sendable {
    /// The name under which actions of this type are stored; 1 to 255 bytes without NUL.
    ///
    /// Keep it when you rename the type: stored actions run once a route for their kind exists.
    static var kind: String { get }
    /// The version of the payload, counted from 1, which is the default.
    ///
    /// If stored payloads do not decode any more, raise it: see ``Broker/upgrade(_:from:reading:_:)``.
    static var version: Int { get }
    /// The queue that the action waits in.
    var queue: QueueName { get }
    /// The key that orders the action in its queue; ``SortKey/arrival`` by default.
    var sortKey: SortKey { get }
    /// The options with which each action is enqueued, such as an expiry or groups; none by default.
    ///
    /// ```swift
    /// var options: EnqueueOptions { EnqueueOptions(expiresAt: link.validUntil, tag: "album-\(album)") }
    /// ```
    ///
    /// For each field, the options of the call count if they set it: to a value other than `nil`, or to a
    /// list that is not empty. Otherwise these count. Every form of an enqueue reads them; an edit does not.
    /// Make it a computed property, which is not part of the payload. A property of this name and of another
    /// type has no meaning here.
    var options: EnqueueOptions { get }
}

extension Action {
    /// The first version.
    public static var version: Int { 1 }
    /// The order of arrival.
    public var sortKey: SortKey { .arrival }
    /// No options.
    public var options: EnqueueOptions { EnqueueOptions() }
}

/// An action whose kind and payload are known at run time only, such as one read from a file.
///
/// To be run by a route of a type, it needs its kind, queue and type of sort key, and a payload that decodes.
public struct RawAction: Sendable, Hashable, CustomStringConvertible {
    /// The queue that the action waits in.
    public var queue: QueueName
    /// The kind that routes match; 1 to 255 bytes without NUL.
    public var kind: String
    /// The key that orders the action; the first action of an empty queue sets the type for later ones.
    public var sortKey: SortKey
    /// The version of the kind that the payload is written in; 1 or more.
    public var version: Int
    /// The payload: one JSON value as text.
    public var payload: String

    /// Makes an action; it is checked when it is enqueued.
    public init(
        queue: QueueName,
        kind: String,
        version: Int = 1,
        sortKey: SortKey = .arrival,
        payload: String
    ) {
        self.queue = queue
        self.kind = kind
        self.version = version
        self.sortKey = sortKey
        self.payload = payload
    }
    /// Kind and queue, without the payload (G13).
    public var description: String { "\(kind) for \(queue)" }
}

/// The number of an action in its file: given at commit, never used again, and rising.
public struct ActionID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number, as in the column `id` of `sluice_actions`.
    public let rawValue: Int64
    /// Makes an id from the number that SQL shows.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Whether the left action was enqueued before the right one.
    public static func < (left: ActionID, right: ActionID) -> Bool { left.rawValue < right.rawValue }
    /// The number in digits.
    public var description: String { String(rawValue) }
}
