#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A queue and why it does not move, at one moment, from the file and the broker's memory.
public struct QueueStatus: Sendable, Hashable, Identifiable, CustomStringConvertible {
    /// A word for the queue's state, as in the column `state` of `sluice_queues`.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Its head runs.
        case running
        /// A failure policy has parked it.
        case parked
        /// Its head's payload does not decode.
        case undecodable
        /// There is no route for its head's kind.
        case unknownKind = "unknown kind"
        /// There is no route for its name.
        case noRoute = "no route"
        /// A hold covers it.
        case held
        /// Its head waits for a gate.
        case gate
        /// Its head waits for a retry.
        case retry
        /// All its actions are scheduled for later.
        case scheduled
        /// Its head could run.
        case ready
        /// No broker runs.
        case stopped
        /// It has no actions; the view has no row for it.
        case empty
    }

    /// The queue.
    public let queue: QueueName
    /// Actions that wait or run in it.
    public let depth: Int
    /// Why it does not move: all reasons, the first as in `sluice_queues`; empty for a queue without actions.
    public let because: [WaitReason]
    /// The action that runs or is next.
    public let head: ActionID?
    /// The kind of that action.
    public let headKind: String?
    /// Attempts of that action that count, including the running one.
    public let attempt: Int
    /// When its oldest action was enqueued, by the clock of the process or server that stored it; `nil` for a
    /// queue without actions.
    public let oldestEnqueuedAt: Date?
    /// The head's last error, or the one that parked the queue.
    public let lastError: String?
    let queueID: QueueID?

    /// The status of a queue without actions.
    package init(
        queue: QueueName,
        depth: Int,
        because: [WaitReason],
        head: ActionID?,
        headKind: String?,
        attempt: Int,
        oldestEnqueuedAt: Date?,
        lastError: String?,
        queueID: QueueID?
    ) {
        (self.queue, self.depth, self.because, self.head) = (queue, depth, because, head)
        (self.headKind, self.attempt, self.oldestEnqueuedAt) = (headKind, attempt, oldestEnqueuedAt)
        (self.lastError, self.queueID) = (lastError, queueID)
    }

    package static func empty(_ queue: QueueName) -> QueueStatus {
        QueueStatus(
            queue: queue,
            depth: 0,
            because: [],
            head: nil,
            headKind: nil,
            attempt: 0,
            oldestEnqueuedAt: nil,
            lastError: nil,
            queueID: nil
        )
    }

    /// The queue's name.
    public var id: QueueName { queue }
    /// A word for its state.
    public var state: State { because.first?.state ?? .empty }

    /// The action that ``Broker/skipHead(of:only:reason:)`` skips: the one of the parking, or the head.
    public var actionToSkip: ActionID? {
        for case .parked(let action, _, _, _) in because { return action }
        return head
    }

    /// When the first reason ends by itself, if it does.
    public var blockedUntil: Date? {
        switch because.first {
        case .held(_, _, let until): until
        case .gate(_, let until): until
        case .retry(let until), .scheduled(let until), .permit(.rate(_, let until)): until
        case nil, .handlersBlocked, .locked, .noRoute, .owned, .parked, .permit, .ready, .refused, .running,
            .stopped, .undecodable, .unknownKind:
            nil
        }
    }

    /// One line: the name and the first reason.
    public var description: String { "\(queue): \(because.first?.description ?? "empty")" }

    /// Whether the queue has stalled if it stays like this.
    var isUnchanged: Bool {
        let isScheduled = because.contains { $0.state == .scheduled }
        // An action has run, but its outcome cannot be written.
        let isObstructed = because.contains { $0.isObstruction }
        return !isScheduled && (because.first?.isStall == true || isObstructed)
    }
}

/// An action that waits or runs, as `sluice_actions` shows it.
public struct ActionSummary: Sendable, Hashable, CustomStringConvertible {
    /// The action's number.
    public let id: ActionID
    /// The action's queue.
    public let queue: QueueName
    /// The action's kind.
    public let kind: String
    /// The action's sort key; `nil` in order of arrival.
    public let sortKey: String?
    /// Attempts that count, including the running one.
    public let attempts: Int
    /// When the running attempt began.
    public let runningSince: Date?
    /// When the next attempt is due.
    public let nextAttemptAt: Date?
    /// When a scheduled action is due.
    public let notBefore: Date?
    /// When it was enqueued.
    public let enqueuedAt: Date
    /// The error of the last failed attempt.
    public let lastError: String?
    /// The payload: JSON text.
    public let payload: String

    package init(
        id: ActionID,
        queue: QueueName,
        kind: String,
        sortKey: String?,
        attempts: Int,
        runningSince: Date?,
        nextAttemptAt: Date?,
        notBefore: Date?,
        enqueuedAt: Date,
        lastError: String?,
        payload: String
    ) {
        self.id = id
        self.queue = queue
        self.kind = kind
        self.sortKey = sortKey
        self.attempts = attempts
        self.runningSince = runningSince
        self.nextAttemptAt = nextAttemptAt
        self.notBefore = notBefore
        self.enqueuedAt = enqueuedAt
        self.lastError = lastError
        self.payload = payload
    }
    /// Number, queue and kind, without the payload (G13).
    public var description: String { "action \(id) of \(queue) (\(kind))" }
}
