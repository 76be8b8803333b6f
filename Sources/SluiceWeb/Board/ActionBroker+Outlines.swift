#if Web
internal import Sluice

/// Lists without payloads; both engines read none for them.
extension ActionBroker {
    func outlines(
        _ pattern: QueuePattern,
        limit: Int
    ) async throws(SluiceError) -> [ActionOutline] {
        if let lists = self as? any OutlineLists {
            return try await lists.actionOutlines(pattern, limit: limit)
        }
        return try await actionSummaries(pattern, limit: limit).map(ActionOutline.init)
    }

    func letterOutlines(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline] {
        if let lists = self as? any OutlineLists {
            return try await lists.deadLetterOutlines(pattern, cause: cause, after: last, limit: limit)
        }
        let place = last.map(DeadLetter.init(at:))
        return try await deadLetters(pattern, cause: cause, after: place, limit: limit)
            .map(DeadLetterOutline.init)
    }
}

extension ActionOutline {
    fileprivate init(_ action: ActionSummary) {
        self.init(
            id: action.id,
            kind: action.kind,
            attempts: action.attempts,
            runningSince: action.runningSince,
            nextAttemptAt: action.nextAttemptAt,
            notBefore: action.notBefore,
            enqueuedAt: action.enqueuedAt,
            lastError: action.lastError
        )
    }
}

extension DeadLetterOutline {
    fileprivate init(_ letter: DeadLetter) {
        self.init(
            id: letter.id,
            queue: letter.queue,
            kind: letter.kind,
            cause: letter.cause,
            error: letter.error,
            attempts: letter.attempts,
            diedAt: letter.diedAt
        )
    }
}

extension DeadLetter {
    /// A place in a list, of which only the time and the number count.
    fileprivate init(at place: DeadLetterPlace) {
        self.init(
            id: place.id,
            queue: "place",
            kind: "place",
            cause: .failed,
            error: "",
            attempts: 0,
            diedAt: place.diedAt.date,
            payload: "",
            sortKey: .arrival,
            tag: nil,
            gate: nil,
            version: 1,
            enqueuedAt: place.diedAt.date
        )
    }
}
#endif
