#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The engine's source of time; tests pass a clock that they advance themselves.
///
/// The wall clock is for times in the file, which outlive the process; the monotonic one is for waiting.
public protocol BrokerClock: Sendable {
    /// The wall clock in microseconds since 1970 (UTC). It may jump.
    var wallMicroseconds: Int64 { get }
    /// The time since some fixed point; it never goes back, and continues while the machine sleeps.
    var uptime: Duration { get }
    /// Waits until ``uptime`` has reached a point; throws `CancellationError` if the task is cancelled first.
    func sleep(untilUptime deadline: Duration) async throws
}

extension BrokerClock {
    /// The wall clock as the file stores it.
    package var now: Timestamp { Timestamp(microseconds: wallMicroseconds) }
}

/// The clocks of the system.
public struct SystemClock: BrokerClock {
    private let origin = ContinuousClock.now
    /// Makes a clock whose uptime counts from now.
    public init() {}

    /// The time of day, from `CLOCK_REALTIME`.
    public var wallMicroseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// The time since the clock was made, by Swift's `ContinuousClock`.
    public var uptime: Duration { origin.duration(to: .now) }

    /// Sleeps by Swift's `ContinuousClock`.
    public func sleep(untilUptime deadline: Duration) async throws {
        try await ContinuousClock().sleep(until: origin.advanced(by: deadline))
    }
}
