import Foundation
import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

/// A broker for one case of the table of calls, and all that it says: its answers, its log and its events.
///
/// Its clock is moved by hand, so that times are equal wherever the queues are kept.
final class CallSite: Sendable {
    let broker: Broker
    let clock: ManualClock
    /// What the handler of a note with the text "run" waits for.
    let go = Signal()
    /// Notes whose handlers have started, by their texts.
    let started = EventLog<String>()
    private let lines: EventLog<String>
    private let events: Task<[QueueEvent], Never>
    private let answers = Mutex<[String]>([])
    private let run = Mutex<Task<Void, any Error>?>(nil)

    /// - Parameters:
    ///   - lines: What the broker logs.
    init(_ broker: Broker, _ clock: ManualClock, _ lines: EventLog<String>) throws {
        (self.broker, self.clock, self.lines) = (broker, clock, lines)
        let stream = broker.events(buffering: .bounded(100_000))
        events = Task {
            var events: [QueueEvent] = []
            for await case .event(let event) in stream { events.append(event) }
            return events
        }
    }

    /// Routes the notes: what the first word of its text says happens to each.
    func route() throws {
        var skipping = RouteOptions()
        skipping.failure = FailurePolicies(failed: .skip)
        for (pattern, options) in [("*", RouteOptions()), ("dead", skipping)] {
            try broker.route(QueuePattern(pattern), Note.self, options) { [go, started] note, _ in
                started.append(note.text)
                switch note.text {
                case "retry": return .retry(after: .seconds(60), because: "try later")
                case "fail": return .fail("no such room")
                case "release": return .release
                // Also if it is cancelled, so that a second call meets it.
                case "run": try await Task.detached { try await go.received() }.value
                default: break
                }
                return .success
            }
        }
    }

    /// Begins to run, and returns when an action has run.
    func begin() async throws {
        try await broker.enqueue(Note("probe", in: "probe"))
        let task = Task { [broker] in try await broker.run() }
        run.withLock { $0 = task }
        _ = try await started.wait { $0.contains("probe") }
        try await until { try await self.broker.status(of: "probe").depth == 0 }
    }

    /// Waits until nothing is left that could run now, if the broker runs, and a file's scheduler knows it:
    /// it reports that a queue is empty when it looks for the next action.
    ///
    /// - Parameter queue: Its action goes on running.
    func settle(besides queue: QueueName? = nil) async throws {
        guard run.withLock({ $0 != nil }) else { return }
        try await until {
            try await self.broker.statuses(matching: "*", in: [.ready, .running], limit: 10)
                .allSatisfy { $0.queue == queue && $0.state == .running }
        }
        guard let engine = broker.engine as? FileEngine else { return }
        try await until { engine.isAtRest(butFor: queue == nil ? 0 : 1) }
    }

    /// Notes what a call returns or throws.
    func note(_ words: String, _ call: () async throws -> Any) async {
        let answer: String
        do { answer = Transcript.text(try await call()) } catch { answer = Transcript.text(error) }
        answers.withLock { $0.append("\(words): \(answer)") }
    }

    /// Ends the broker; returns all that it has said.
    func end() async throws -> [String] {
        go.send()
        await broker.stop(grace: .seconds(60))
        try await run.withLock { $0 }?.value
        await broker.close()
        let events = await events.value
        // The queues run beside each other, so that the order is that within each.
        let queues = Set(events.map { $0.queue?.rawValue ?? "" }).sorted()
        let reports = queues.flatMap { queue in events.filter { ($0.queue?.rawValue ?? "") == queue } }
        return answers.withLock { $0 } + lines.elements.map { "log: \(Transcript.withoutMarks($0))" }
            + reports.map { "event: \(Transcript.text($0))" }
    }
}
