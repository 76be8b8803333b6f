#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The limit of open descriptors, and their use.
enum Descriptors {
    /// The minimum for running one command after the other.
    ///
    /// With fewer, something traps, such as libdispatch without a descriptor for a timer.
    private static let least = 32
    /// Standard streams, the file's connections, watches, timers, and descriptors of libraries.
    private static let reserve = 40
    /// Output and errors of a command; during its start, also their other ends and the payload.
    private static let perCommand = 5

    /// The minimum for any verb; with fewer, libdispatch traps at its first timer or wait.
    private static let leastOfVerb = 20

    /// Refuses to go on with too few descriptors.
    static func check() throws(Failure) {
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0, limits.rlim_cur < rlim_t(leastOfVerb) else { return }
        throw tooFew(limits, of: "and sluice takes \(leastOfVerb)")
    }

    private static func tooFew(_ limits: rlimit, of need: String) -> Failure {
        Failure(
            .cannotOpen,
            "a process may have \(limits.rlim_cur) files open, \(need): raise `ulimit -n`, or LimitNOFILE= "
                + "of the service"
        )
    }

    #if os(Linux)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let resource = RLIMIT_NOFILE
    #endif

    /// Opens the descriptors of the runtime's timers.
    ///
    /// The runtime would open them at the first use, and trap if none is left.
    static func takeTimers() async {
        try? await ContinuousClock().sleep(for: .nanoseconds(1))
        try? await SuspendingClock().sleep(for: .nanoseconds(1))
    }

    /// Raises the limit as far as needed and allowed.
    ///
    /// The process that starts commands, and passes on its limits, must have been forked before.
    ///
    /// - Returns: How many commands can run at the same time, at most `asked`.
    /// - Throws: ``Failure`` if not even one can.
    static func concurrency(upTo asked: Int) throws(Failure) -> Int {
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return asked }
        let wanted = rlim_t(reserve + asked * perCommand)
        if limits.rlim_cur < wanted {
            var raised = limits
            raised.rlim_cur = min(wanted, limits.rlim_max)
            if setrlimit(resource, &raised) == 0 { limits = raised }
        }
        guard limits.rlim_cur < wanted else { return asked }
        guard limits.rlim_cur >= rlim_t(least) else {
            throw tooFew(limits, of: "and a run takes \(least)")
        }
        return max((Int(limits.rlim_cur) - reserve) / perCommand, 1)
    }
}
#endif
