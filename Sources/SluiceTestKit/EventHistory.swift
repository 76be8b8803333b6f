public import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What a broker's queues have gone through, and whether it is what Sluice promises.
///
/// A ``TestBroker`` has it in its ``TestBroker/events``, any other broker in an ``EventRecorder``.
public struct EventHistory: Sendable, CustomStringConvertible {
    /// Something in a history that must not be.
    public struct Violation: Sendable, Hashable, CustomStringConvertible {
        /// The guarantee that is broken: `G3` for two runners in one queue.
        public let guarantee: String
        /// What has happened, and to whom.
        public let text: String
        /// The guarantee and what has happened.
        public var description: String { "\(guarantee): \(text)" }
    }

    /// The events, in the order of their commits.
    public let events: [QueueEvent]
    /// What actions are ordered by, as far as that is known.
    let sortKeys: [ActionID: SortKey]

    /// Makes a history.
    ///
    /// - Parameters:
    ///   - events: All of a broker's events from the first enqueue on.
    ///   - sortKeys: What the actions were enqueued with; the order of those that are missing is not checked.
    public init(_ events: [QueueEvent], sortKeys: [ActionID: SortKey] = [:]) {
        self.events = events
        self.sortKeys = sortKeys
    }

    /// A line for each event, with the seconds since the first.
    public var description: String {
        guard let start = events.first?.time else { return "nothing has happened" }
        return events.map { "\(Self.seconds(from: start, to: $0.time)) s \($0)" }.joined(separator: "\n")
    }

    /// With its sign, and three digits behind the point.
    private static func seconds(from start: Date, to end: Date) -> String {
        let count = Int((end.timeIntervalSince(start) * 1_000).rounded())
        let digits = String(count.magnitude % 1_000)
        let padding = String(repeating: "0", count: 3 - digits.count)
        return (count < 0 ? "-" : "+") + "\(count.magnitude / 1_000).\(padding)\(digits)"
    }

    /// What the history breaks: one runner a slot (G3), the queue's order (G2, G4), the numbers of attempts
    /// (G7), and that each run is settled once (G5, G6).
    ///
    /// What the history does not tell is not held against it: what was edited, scheduled or put back may
    /// stand anywhere in its queue's order.
    ///
    /// - Parameter discipline: The discipline of a queue, which says how many run at a time and whether the
    ///   order binds; `QueueDiscipline.firstInFirstOut` by default.
    public func violations(
        discipline: (QueueName) -> QueueDiscipline = { _ in .firstInFirstOut }
    ) -> [Violation] {
        var check = HistoryCheck(sortKeys: sortKeys)
        for event in events { check.take(event, event.queue.map(discipline) ?? .firstInFirstOut) }
        return check.violations
    }
}
