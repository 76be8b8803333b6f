internal import SluiceSQLite

/// What an attempt ends with, as it is written.
package enum Settlement: Sendable, Hashable {
    /// The action is done and removed.
    case success
    /// The same, with what the application writes in the same transaction.
    case successWriting(SettlingWork)
    /// It waits and is tried again.
    case retry(after: Duration, untilOpen: GateName? = nil, error: String)
    /// It cannot go on.
    case fail(FailureCause, FailurePolicy, error: String)
    /// It is given back, the attempt not spent, and waits; the error replaces the last one, if there is one.
    case release(after: Duration, untilOpen: GateName? = nil, error: String? = nil)
    /// It is given back by a broker that stops, and waits for nothing.
    case stop
}

extension Settlement {
    /// Losing a success, a retry or a release with the power only means that the action runs again, which G5
    /// allows.
    ///
    /// Setting an action or a queue aside is owed to the operator.
    ///
    /// Nor may what the application writes with a success be lost.
    var sync: SyncNeed {
        switch self {
        case .fail, .successWriting: .owed
        case .success, .retry, .release, .stop: .later
        }
    }

    var isSuccess: Bool {
        switch self {
        case .success, .successWriting: true
        case .retry, .fail, .release, .stop: false
        }
    }

    /// Why what the application writes cannot be committed, if that is why a commit has failed.
    func workFailure(_ error: SluiceError) -> (any Error)? {
        guard case .successWriting(let work) = self else { return nil }
        // What it has left to the commit to check, as deferred foreign keys.
        let isRefused = error.sqliteCode.map { ResultCode(rawValue: $0).primary == .constraint } ?? false
        return work.failure ?? (isRefused ? error : nil)
    }

    /// Whether it has enqueued something that is scheduled for later, or ends.
    var awaitsTime: Bool {
        if case .successWriting(let work) = self { work.awaitsTime } else { false }
    }

    /// Whether code of the application's runs in its transaction.
    var runsForeignCode: Bool {
        if case .successWriting = self { true } else { false }
    }

    /// The payload did not decode.
    var isUndecodable: Bool {
        if case .fail(.undecodable, _, _) = self { true } else { false }
    }
}
