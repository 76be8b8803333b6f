internal import SluiceSQLite

/// The end of an attempt, as it is written.
package enum Settlement: Sendable, Hashable {
    case success
    /// Like `success`, with the application's writes in the same transaction.
    case successWriting(SettlingWork)
    /// The action waits and is retried; `closes`: its gate is closed for the delay.
    case retry(after: Duration, untilOpen: GateName? = nil, closes: Bool = false, error: String)
    /// The action has failed for good.
    case fail(FailureCause, FailurePolicy, error: String)
    /// The action is given back without spending the attempt, and waits; an error replaces the last one.
    case release(after: Duration, untilOpen: GateName? = nil, closes: Bool = false, error: String? = nil)
    /// The action is given back by a stopping broker, and waits for nothing.
    case stop

    /// Whether it must survive a loss of power, as dead letters, parking and the application's writes must.
    ///
    /// Losing another only means that the action runs again, which G5 allows.
    var sync: SyncNeed {
        switch self {
        case .fail, .successWriting: .owed
        case .success, .retry, .release, .stop: .later
        }
    }

    /// The gate that it closes, and for how long.
    var closing: (gate: GateName, delay: Duration)? {
        switch self {
        case .retry(let delay, let gate?, closes: true, _), .release(let delay, let gate?, closes: true, _):
            (gate, delay)
        default: nil
        }
    }

    var isSuccess: Bool { if case .success = self { true } else { runsForeignCode } }

    /// Returns why the application's writes cannot be committed, if that is why a commit has failed.
    func workFailure(_ error: SluiceError) -> (any Error)? {
        guard case .successWriting(let work) = self else { return nil }
        // Checks left to the commit, such as deferred foreign keys.
        let isRefused = error.sqliteCode.map { ResultCode(rawValue: $0).primary == .constraint } ?? false
        return work.failure ?? (isRefused ? error : nil)
    }

    /// Whether it has enqueued an action that is scheduled or expires.
    var awaitsTime: Bool { if case .successWriting(let work) = self { work.awaitsTime } else { false } }

    /// Whether the application's code runs in its transaction.
    var runsForeignCode: Bool { if case .successWriting = self { true } else { false } }

    var isUndecodable: Bool { if case .fail(.undecodable, _, _) = self { true } else { false } }
}
