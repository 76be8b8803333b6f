/// A queue with work, as `sluice_queues` shows it.
///
/// Times are ISO 8601 in UTC.
public struct QueueSummary: Sendable, Hashable {
    /// The queue.
    public let queue: QueueName
    /// Actions that wait or run in it.
    public let depth: Int
    /// One word: `running`, `parked`, `undecodable`, `unknown kind`, `no route`, `retry`, `scheduled`,
    /// `ready`, `stopped`.
    public let state: String
    /// Why it does not move, or since when it runs, in words.
    public let because: String
    /// The action that runs or is next.
    public let head: ActionID?
    /// The kind of that action.
    public let headKind: String?
    /// Attempts of that action that count, the running one among them.
    public let attempt: Int
    /// When the retry wait or the schedule ends, if that is what it waits for.
    public let blockedUntil: String?
    /// How long its oldest action has been there.
    public let oldestAge: Duration
    /// The head's last error, or the one that parked the queue.
    public let lastError: String?
}

/// An action that waits or runs, as `sluice_actions` shows it.
///
/// Times are ISO 8601 in UTC.
public struct ActionSummary: Sendable, Hashable {
    /// The action's number.
    public let id: ActionID
    /// The queue that it stands in.
    public let queue: QueueName
    /// Its kind.
    public let kind: String
    /// Its sort key; `nil` in order of arrival.
    public let sortKey: String?
    /// Attempts that count, the running one among them.
    public let attempts: Int
    /// When the running attempt began.
    public let runningSince: String?
    /// When it is tried again.
    public let nextAttemptAt: String?
    /// When it gets its place in the order.
    public let notBefore: String?
    /// When it was enqueued.
    public let enqueuedAt: String
    /// The error of the last attempt that failed.
    public let lastError: String?
    /// The payload: JSON text.
    public let payload: String
}
