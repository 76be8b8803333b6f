#if CommandLineTool
internal import ArgumentParser
internal import Sluice

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
        let given = (grace: self.grace?.duration, patience: killAfter?.duration)
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

extension RunPolicy {
    private static let shortestLease: Duration = .seconds(1)
    private static let longestLease: Duration = .seconds(3_600)
    private static let defaultLease: Duration = .seconds(30)

    /// How long a server keeps the queues for this process.
    ///
    /// When it is cut off, it cancels its commands after two thirds of the lease: they have ended by its end.
    func lease(_ times: RunTimes, isExec: Bool) -> Duration {
        lease?.duration ?? min(max(Self.defaultLease, Self.neededLease(times, isExec)), Self.longestLease)
    }

    /// The last third has room for all that a command may take after a cancellation.
    private static func neededLease(_ times: RunTimes, _ isExec: Bool) -> Duration {
        times.patience * (isExec ? 2 : 3) * 3
    }

    /// Refuses what a server cannot do, and options that are for a server alone.
    func check(for store: StoreOption, _ times: RunTimes, _ handler: HandlerCommand) throws {
        func refuse(_ isWrong: Bool, _ message: String) throws {
            if isWrong { throw ValidationError(message) }
        }
        guard store.isServer else { return try refuse(lease != nil, "--lease needs --postgres") }
        try refuse(
            rules.batch != nil || rules.discipline.contains { $0.discipline != .firstInFirstOut },
            "--discipline and --batch need --file: queues on a server run first in, first out, at once"
        )
        guard let lease else { return }
        try refuse(
            lease.duration < Self.shortestLease || lease.duration > Self.longestLease,
            "--lease must be 1s to 1h"
        )
        let needed = Self.neededLease(times, handler.exec != nil)
        try refuse(
            lease.duration < needed,
            "--lease is shorter than commands may take to end after a cancellation: give at least "
                + "\(Times.span(needed)), or a shorter --kill-after"
        )
    }
}
#endif
