#if Web
internal import Synchronization

/// Reports something that strangers can cause often: the first time at once, later ones together.
final class RareNotice: Sendable {
    /// The shortest time between two reports.
    static let interval: Duration = .seconds(10)

    private struct Memory: Sendable {
        var count = 0
        var last: ContinuousClock.Instant?
    }

    private let memory = Mutex(Memory())
    private let report: @Sendable (_ count: Int) -> Void

    init(_ report: @escaping @Sendable (_ count: Int) -> Void) { self.report = report }

    /// Counts one, and reports how many there were since the last report.
    func happened(at now: ContinuousClock.Instant = .now) {
        let count = memory.withLock { memory -> Int? in
            memory.count += 1
            if let last = memory.last, last.duration(to: now) < Self.interval { return nil }
            memory.last = now
            defer { memory.count = 0 }
            return memory.count
        }
        if let count { report(count) }
    }
}
#endif
