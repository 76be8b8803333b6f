/// The result of an act.
package struct ActResult: Sendable {
    /// The result for the subject; of many, whether some were changed, at once or later.
    package var outcome: ActionChange {
        if let refusal { return refusal }
        if deferred > 0 { return .deferred }
        return done > 0 ? .done : .missing
    }

    /// How many subjects were changed.
    package var done = 0
    /// How many run: they are changed when their attempts end.
    package var deferred = 0
    /// Why the one subject was not changed.
    private var refusal: ActionChange?
    /// The action that it concerned: the skipped or the running head; of a dead letter, the new number.
    package var action: ActionID?
    /// The hold that was made.
    package var hold: HoldID?
    /// How many dead letters were not put back.
    package var keptCount = 0
    /// The first of them, with the reason.
    package var firstKept: (action: ActionID, reason: String)?

    /// The result of an act on many.
    package init(done: Int = 0, deferred: Int = 0) { (self.done, self.deferred) = (done, deferred) }

    /// The result of an act on one.
    package init(_ outcome: ActionChange, _ action: ActionID? = nil) {
        self.action = action
        switch outcome {
        case .done: done = 1
        case .deferred: deferred = 1
        case .running, .conflict, .missing: refusal = outcome
        }
    }

    /// The result of an act on one that is there or not.
    package init(isThere: Bool) { self.init(isThere ? .done : .missing) }

    package init(_ skip: HeadSkip) {
        switch skip {
        case .skipped(let action): self.init(.done, action)
        case .running(let action): self.init(.running, action)
        case .other(let action): self.init(.conflict, action)
        case .empty: self.init(.missing)
        }
    }

    /// Adds the result of another batch.
    package mutating func add(_ other: ActResult) {
        done += other.done
        deferred += other.deferred
        keptCount += other.keptCount
        firstKept = firstKept ?? other.firstKept
    }
}

extension Cancellation {
    init(_ change: ActionChange) {
        self =
            switch change {
            case .done: .removed
            case .deferred: .signalled
            case .running, .conflict, .missing: .tooLate
            }
    }
}

extension CancellationCounts {
    init(_ result: ActResult) {
        self.init()
        (removed, signalled) = (result.done, result.deferred)
    }
}

extension HeadSkip {
    /// Makes the result of a skip, which names its action unless there is none.
    init(_ result: ActResult) {
        guard let action = result.action else {
            self = .empty
            return
        }
        self =
            switch result.outcome {
            case .done, .deferred: .skipped(action)
            case .running: .running(action)
            case .conflict: .other(action)
            case .missing: .empty
            }
    }
}
