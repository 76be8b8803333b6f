public import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The history of a broker's queues, with a check of Sluice's guarantees.
///
/// A ``TestBroker`` has it in its ``TestBroker/events``, any other broker in an ``EventRecorder``.
public struct EventHistory: Sendable, CustomStringConvertible {
    /// A violation of a guarantee.
    public struct Violation: Sendable, Hashable, CustomStringConvertible {
        /// The guarantee: `G3` for two running actions in one queue.
        public let guarantee: String
        /// What happened, in words.
        public let text: String
        /// The guarantee and the text.
        public var description: String { "\(guarantee): \(text)" }
    }

    /// The events, in the order of their commits.
    public let events: [QueueEvent]
    /// The sort keys of actions, as far as they are known.
    let sortKeys: [ActionID: SortKey]
    /// The numbers of events before crashes, which end runs without an event.
    var crashes: Set<Int> = []

    /// Makes a history.
    ///
    /// - Parameters:
    ///   - events: All of a broker's events from the first enqueue on.
    ///   - sortKeys: The actions' sort keys; the order of missing ones is not checked.
    public init(_ events: [QueueEvent], sortKeys: [ActionID: SortKey] = [:]) {
        self.events = events
        self.sortKeys = sortKeys
    }

    /// A line for each event, with the seconds since the first.
    public var description: String {
        guard let start = events.first?.time else { return "nothing has happened" }
        return events.map { "\(Self.seconds(from: start, to: $0.time)) s \($0)" }.joined(separator: "\n")
    }

    /// Returns seconds with their sign and three decimals.
    private static func seconds(from start: Date, to end: Date) -> String {
        let count = Int((end.timeIntervalSince(start) * 1_000).rounded())
        let digits = String(count.magnitude % 1_000)
        let padding = String(repeating: "0", count: 3 - digits.count)
        return (count < 0 ? "-" : "+") + "\(count.magnitude / 1_000).\(padding)\(digits)"
    }

    /// Returns the violations in the history.
    ///
    /// It checks that a slot runs one action (G3), the queue's order (G2, G4), the numbers of attempts (G7),
    /// and that each run is settled once (G5, G6). Unknown facts are no violations: edited, scheduled or
    /// requeued actions may be anywhere in their queue's order.
    ///
    /// - Parameter discipline: The discipline of a queue, which says how many actions run at a time and
    ///   whether the order is binding; `QueueDiscipline.firstInFirstOut` by default.
    public func violations(
        discipline: (QueueName) -> QueueDiscipline = { _ in .firstInFirstOut }
    ) -> [Violation] {
        var check = HistoryCheck(sortKeys: sortKeys)
        for (index, event) in events.enumerated() {
            if crashes.contains(index) { check.crash() }
            check.take(event, event.queue.map(discipline) ?? .firstInFirstOut)
        }
        return check.violations
    }
}
