#if Web
internal import Sluice

extension BrokerClock {
    /// Waits for a duration.
    func sleep(for duration: Duration) async throws { try await sleep(untilUptime: uptime + duration) }
}
#endif
