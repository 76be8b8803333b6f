internal import Logging
internal import Synchronization

/// What a process may have died of is tried with nothing beside it (``CrashTrial``).
extension Scheduler {
    /// Suspects that have not lost a process alone are tried for this part of the time for all.
    private static let part = 5

    /// Has the suspects of the file tried before anything else starts.
    func suspected(_ suspects: [(queue: QueueID, level: Int, crashes: Int)]) {
        guard !suspects.isEmpty, crashTrialLimit > .zero else { return }
        let until = clock.uptime + crashTrialLimit
        update { $0.schedule(.endTrial, at: until) }
        update { $0.suspected(suspects, until: until) }
    }

    /// A claim has met a suspect: the time for trials begins, unless it has already.
    func limitTrial() {
        let now = clock.uptime
        let until = machine.withLock { machine in
            let until = machine.trial.until ?? now + crashTrialLimit
            machine.trial.until = until
            return until
        }
        update { $0.schedule(.endTrial, noLaterThan: until) }
    }

    /// One of those that are being tried; `nil` while none runs.
    var tried: TriedAction? {
        let claims = machine.withLock { $0.trial.claims }
        guard let claim = claims.min(by: { $0.key < $1.key })?.value else { return nil }
        return triedActions.withLock { $0[claim] }.map { action in
            TriedAction(queue: action.queue, action: action.receipt.action, otherCount: claims.count - 1)
        }
    }

    func endTrial() { update { $0.endTrial() } }

    func beginTrial(isLong: Bool) {
        triedActions.withLock { $0 = [:] }
        let now = clock.uptime
        let until = machine.withLock { $0.trial.until } ?? now + crashTrialLimit
        update { $0.schedule(.endTrial, at: isLong ? until : min(until, now + crashTrialLimit / Self.part)) }
    }

    /// Writes that these runs have not killed their process.
    ///
    /// If it cannot be written, a later death counts against them although it should not: the next start
    /// tries them again.
    func survived(_ claims: [Int64]) {
        Task(executorPreference: executor) { [store, logger] in
            do {
                try await store.survived(claims)
            } catch {
                logger.debug("the end of a trial was not written", metadata: ["error": "\(error)"])
            }
        }
    }
}
