#if Web
internal import Sluice

extension BrokerClock {
    /// Waits for a duration.
    func sleep(for duration: Duration) async throws { try await sleep(untilUptime: uptime + duration) }

    /// Waits until something has happened, for some time at most.
    func wait(atMost limit: Duration, until hasHappened: () -> Bool) async throws {
        let end = uptime + limit
        while uptime < end, !hasHappened() { try await sleep(for: .milliseconds(20)) }
    }
}
#endif
