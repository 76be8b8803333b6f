#if CommandLineTool
internal import ArgumentParser

/// How long a run starts actions, lets them finish, and waits for cancelled ones.
struct RunTimes {
    /// `nil` is without an end.
    let work: Duration?
    let grace: Duration
    let patience: Duration
    /// How long a write may wait for another connection's lock; `nil` is the library's default.
    let lockTimeout: Duration?

    /// Reports why nothing runs if there is no time at all.
    func remarkIfNone(of reason: String) {
        if work == .zero { Terminal.remark("\(reason): nothing is run") }
    }
}

extension RunPolicy {
    /// The default.
    private static let longestGrace: Duration = .seconds(10)
    private static let longestPatience: Duration = .seconds(5)
    private static let longestLockTimeout: Duration = .seconds(10)
    /// Short commits of other processes never fail a write.
    private static let shortestLockTimeout: Duration = .seconds(1)

    /// Divides a limited time, so that everything has ended by its end.
    ///
    /// A command that ignores all requests uses the patience twice, a handler process three times: after a
    /// cancellation, the end of its input, and SIGTERM.
    ///
    /// - Parameters:
    ///   - limit: `nil` is no limit.
    ///   - option: The option that has set the limit.
    func times(within limit: Duration?, of option: String) throws -> RunTimes {
        let given = (
            grace: self.grace.map { Duration.seconds($0) }, patience: killAfter.map { Duration.seconds($0) }
        )
        guard let limit else {
            return RunTimes(
                work: nil,
                grace: given.grace ?? Self.longestGrace,
                patience: given.patience ?? Self.longestPatience,
                lockTimeout: nil
            )
        }
        let grace = given.grace ?? min(limit / 5, Self.longestGrace)
        let patience = given.patience ?? min(limit / 20, Self.longestPatience)
        let work = limit - grace - patience * 3
        guard work > .zero || limit <= .zero else {
            throw ValidationError("--grace and three times --kill-after leave no time of \(option)")
        }
        return RunTimes(
            work: max(work, .zero),
            grace: grace,
            patience: patience,
            lockTimeout: min(max(limit / 20, Self.shortestLockTimeout), Self.longestLockTimeout)
        )
    }
}
#endif
