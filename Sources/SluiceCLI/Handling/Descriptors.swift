#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// How many descriptors this process may have open, and what for.
enum Descriptors {
    /// What it takes to run one command after the other.
    ///
    /// With less something ends in a trap, such as
    /// libdispatch when it lacks a descriptor for a timer.
    private static let least = 32
    /// Standard streams, the file's connections, watches, timers, and what libraries have open.
    private static let reserve = 40
    /// The output of a command; and while it starts, its payload and the other end.
    private static let perCommand = 3

    /// Takes the descriptors that the runtime's timers need.
    ///
    /// It takes them at their first use otherwise, and ends in a trap should there be none left then.
    static func takeTimers() async {
        try? await ContinuousClock().sleep(for: .nanoseconds(1))
        try? await SuspendingClock().sleep(for: .nanoseconds(1))
    }

    /// Raises the limit as far as is needed and allowed.
    ///
    /// Commands that were to inherit it have been forked from this process before.
    ///
    /// - Returns: How many commands can run at the same time, at most as many as are asked for.
    /// - Throws: ``Failure`` where not even one can.
    static func concurrency(upTo asked: Int) throws(Failure) -> Int {
        var limits = rlimit()
        #if os(Linux)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limits) == 0 else { return asked }
        let wanted = rlim_t(reserve + asked * perCommand)
        if limits.rlim_cur < wanted {
            var raised = limits
            raised.rlim_cur = min(wanted, limits.rlim_max)
            if setrlimit(resource, &raised) == 0 { limits = raised }
        }
        guard limits.rlim_cur < wanted else { return asked }
        guard limits.rlim_cur >= rlim_t(least) else {
            throw Failure(
                .cannotOpen,
                "a process may have \(limits.rlim_cur) files open, and a run takes \(least): raise "
                    + "`ulimit -n`, or LimitNOFILE= of the service"
            )
        }
        return max((Int(limits.rlim_cur) - reserve) / perCommand, 1)
    }
}
#endif
