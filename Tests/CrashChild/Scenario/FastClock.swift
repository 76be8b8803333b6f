import Sluice

/// A clock that runs faster than the machine's, so that what is tried again within a second is tried soon.
struct FastClock: BrokerClock {
    /// Seconds of this clock for each of the machine's.
    static let rate = 50
    private let system = SystemClock()
    private let start = SystemClock().wallMicroseconds

    var uptime: Duration { system.uptime * Self.rate }

    var wallMicroseconds: Int64 { start + Int64(uptime / .microseconds(1)) }

    func sleep(untilUptime deadline: Duration) async throws {
        try await system.sleep(untilUptime: deadline / Self.rate)
    }
}

extension BrokerClock {
    /// Waits; a cancelled task does not.
    func pause(_ duration: Duration) async { try? await sleep(untilUptime: uptime + duration) }
}
