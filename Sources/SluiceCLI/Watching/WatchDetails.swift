#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A queue and its head with all that is known, for the details of a watch.
struct WatchDetails {
    /// How much is shown of a payload, and how many attempts, the latest first; `sluice show` has all.
    private static let payloadLength = 4_000
    private static let attemptCount = 100

    let queue: QueueName
    /// Names and values, without empty values.
    private(set) var facts: [(name: String, value: String)] = []

    init(_ status: QueueStatus, at now: Date) {
        queue = status.queue
        add("queue", status.queue.rawValue)
        add("state", status.state.rawValue)
        for (index, because) in status.because.enumerated() {
            add(index == 0 ? "because" : "and because", because.text(at: now))
        }
        add("depth", String(status.depth))
        if status.state != .empty { add("oldest", Times.short(status.oldestAge(at: now))) }
    }

    /// Reads a queue, its holds, its head and the attempts of that.
    init(_ broker: Broker, _ queue: QueueName, at now: Date) async throws {
        let status = try await broker.status(of: queue)
        self.init(status, at: now)
        for hold in try await broker.holds() where try hold.pattern.form().matches(queue) {
            add("hold \(hold.id)", "\(hold.pattern) by \(hold.holder)")
        }
        guard let head = status.head else { return }
        let facts = try await broker.action(head).facts(try await broker.engine.keyAndGroups(of: head))
        // The facts of the queue are above.
        for (name, value) in facts where !["queue", "ahead", "because", "and because"].contains(name) {
            switch name {
            case "id": add("head", value)
            case "state": add("head state", value)
            case "payload": add(name, Visible.beginning(of: value, count: Self.payloadLength))
            default: add(name, value)
            }
        }
        let attempts = try await broker.failedAttempts(of: head)
        add(attempts, at: now)
    }

    mutating func add(_ attempts: [FailedAttempt], at now: Date) {
        for attempt in attempts.suffix(Self.attemptCount).reversed() {
            let outcome = attempt.cause?.rawValue ?? "retry"
            let ended = "\(Times.short(from: attempt.endedAt, to: now)) ago"
            let time = Times.short(from: attempt.startedAt, to: attempt.endedAt)
            add("attempt \(attempt.number)", "\(outcome) \(ended) after \(time): \(attempt.error)")
        }
    }

    private mutating func add(_ name: String, _ value: String) {
        if !value.isEmpty { facts.append((name, Visible.text(value))) }
    }
}
#endif
