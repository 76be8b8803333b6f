internal import Logging
internal import Synchronization

/// Tries suspects of a crash with nothing beside them (``CrashTrial``).
extension Scheduler {
    /// Suspects whose process has not died while they ran alone are tried for this part of the whole time.
    private static let part = 5

    /// Tries the suspects of the file before anything else starts.
    func suspected(_ suspects: [(queue: QueueID, level: Int, crashes: Int)]) {
        guard !suspects.isEmpty, crashTrialLimit > .zero else { return }
        let until = clock.uptime + crashTrialLimit
        update { $0.schedule(.endTrial, at: until) }
        update { $0.suspected(suspects, until: until) }
    }

    /// Starts the time for trials, unless it has started, after a claim has met a suspect.
    func limitTrial() {
        let now = clock.uptime
        let until = machine.withLock { machine in
            let until = machine.trial.until ?? now + crashTrialLimit
            machine.trial.until = until
            return until
        }
        update { $0.schedule(.endTrial, noLaterThan: until) }
    }

    /// One of the actions on trial; `nil` while none runs.
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

    /// Records that these runs have not killed their process.
    ///
    /// If that cannot be written, a later death counts against them: the next start tries them again.
    func survived(_ claims: [Int64]) {
        Task(executorPreference: executor) { [store, logger] in
            do { try await store.survived(claims) } catch {
                logger.debug("the end of a trial was not written", metadata: ["error": "\(error)"])
            }
        }
    }
}
