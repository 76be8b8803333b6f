#if canImport(FoundationEssentials)
package import struct FoundationEssentials.Date
#else
package import struct Foundation.Date
#endif

/// What a list shows of an action: not the payload, which can have megabytes.
package struct ActionOutline: Sendable {
    package let id: ActionID
    package let kind: String
    package let attempts: Int
    package let runningSince: Date?
    package let nextAttemptAt: Date?
    package let notBefore: Date?
    package let enqueuedAt: Date
    package let lastError: String?

    package init(
        id: ActionID,
        kind: String,
        attempts: Int,
        runningSince: Date?,
        nextAttemptAt: Date?,
        notBefore: Date?,
        enqueuedAt: Date,
        lastError: String?
    ) {
        self.id = id
        self.kind = kind
        self.attempts = attempts
        self.runningSince = runningSince
        self.nextAttemptAt = nextAttemptAt
        self.notBefore = notBefore
        self.enqueuedAt = enqueuedAt
        self.lastError = lastError
    }
}

/// What a list shows of a dead letter: not the payload, which can have megabytes.
package struct DeadLetterOutline: Sendable {
    package let id: ActionID
    package let queue: QueueName
    package let kind: String
    package let cause: FailureCause
    package let error: String
    package let attempts: Int
    package let diedAt: Date

    package init(
        id: ActionID,
        queue: QueueName,
        kind: String,
        cause: FailureCause,
        error: String,
        attempts: Int,
        diedAt: Date
    ) {
        self.id = id
        self.queue = queue
        self.kind = kind
        self.cause = cause
        self.error = error
        self.attempts = attempts
        self.diedAt = diedAt
    }
}

/// A place in the order of dead letters, the newest first; it stays when its letter is gone.
package struct DeadLetterPlace: Sendable {
    package let diedAt: Timestamp
    package let id: ActionID

    package init(diedAt: Timestamp, id: ActionID) { (self.diedAt, self.id) = (diedAt, id) }
}

extension DeadLetterOutline {
    package var place: DeadLetterPlace { DeadLetterPlace(diedAt: Timestamp(diedAt), id: id) }
}
