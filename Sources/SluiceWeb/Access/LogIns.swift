#if Web
internal import Logging
internal import Sluice
internal import Synchronization

/// Slows down who tries tokens: a wrong one is answered late, and of many at once most are refused.
///
/// A right token is never delayed: others cannot lock an operator out.
final class LogIns: Sendable {
    /// How late a wrong token is answered.
    static let delay: Duration = .seconds(1)
    /// The most wrong tokens that wait at the same time.
    static let limit = 8

    private let waiting = Mutex(0)
    private let clock: any BrokerClock
    private let notice: RareNotice

    init(_ clock: any BrokerClock, _ logger: Logger) {
        self.clock = clock
        notice = RareNotice { count in
            // Not in the store: everybody who reaches the page could fill it.
            let address = Caller.current?.description ?? "unknown"
            logger.warning(
                "Somebody has tried to log in with an unknown token",
                metadata: ["count": "\(count)", "sluice.address": "\(address)"]
            )
        }
    }

    /// How many wrong tokens wait to be answered.
    var waitingCount: Int { waiting.withLock { $0 } }

    /// Notes a wrong token, and waits.
    ///
    /// - Returns: False, at once, if too many wait.
    func failed() async throws -> Bool {
        notice.happened()
        let isAdmitted = waiting.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
        guard isAdmitted else { return false }
        defer { waiting.withLock { $0 -= 1 } }
        try await clock.sleep(for: Self.delay)
        return true
    }
}
#endif
