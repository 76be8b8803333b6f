import Foundation
import Sluice

/// What acts have made of a line.
struct Facts {
    enum Removal { case none, possible, certain }

    /// By wall clocks, in microseconds since 1970.
    var notBefore: Int64?
    var expiresAt: Int64?
    var gate: GateName?
    var removal = Removal.none
    /// When it was removed for certain.
    var removedAt: Duration = .zero
    /// The least edition that an attempt has, from a time on.
    var edition = 0
    var editedAt: Duration = .zero
    /// The queue where it runs, from a time on.
    var queue: QueueName?
    var movedAt: Duration = .zero
    var retryNowAt: Duration?
    /// When its handler was told that it is cancelled: unless that succeeds, it never runs again.
    var signalledAt: Duration?

    /// Whether nothing changes its place in the order.
    private(set) var isPlain = true
    private var isEnqueued = false

    /// Adds what an enqueue has; if one whose answer was lost had something else, none is certain.
    mutating func add(_ options: EnqueueOptions) {
        let times = (options.notBefore.map(Self.microseconds), options.expiresAt.map(Self.microseconds))
        notBefore = isEnqueued && notBefore != times.0 ? nil : times.0
        expiresAt = isEnqueued && expiresAt != times.1 ? nil : times.1
        gate = isEnqueued && gate != options.gate ? nil : options.gate
        if times.1 != nil { removal = .possible }
        if times.0 != nil || times.1 != nil || options.gate != nil { isPlain = false }
        isEnqueued = true
    }

    private static func microseconds(_ date: Date) -> Int64 {
        Int64((date.timeIntervalSince1970 * 1_000).rounded()) * 1_000
    }

    mutating func powerLost() {
        if removal == .certain { removal = .possible }
        (edition, queue, signalledAt) = (0, nil, nil)
    }
}

/// What keeps lines from starting, and since when for certain.
struct Bars {
    struct Bar {
        let since: Duration
    }

    private(set) var holds: [QueueName: [HoldID: Bar]] = [:]
    private(set) var gates: [GateName: Bar] = [:]

    mutating func add(_ hold: HoldID, on queue: QueueName, at time: Duration) {
        holds[queue, default: [:]][hold] = Bar(since: time)
    }

    mutating func end(_ hold: HoldID, on queue: QueueName) { holds[queue]?[hold] = nil }
    mutating func close(_ gate: GateName, at time: Duration) { gates[gate] = Bar(since: time) }
    mutating func open(_ gate: GateName) { gates[gate] = nil }

    /// Acts need not be safe when they return.
    mutating func powerLost() { self = Bars() }
}

/// What acts have to do with runs.
extension Judge {
    func checkFacts(_ run: Run) {
        guard let line = lines[run.note.line] else { return }
        let facts = line.facts
        if facts.removal == .certain, isClaimed(by: run.process, after: facts.removedAt) {
            report(run, "runs, and was removed at \(facts.removedAt)")
        }
        if let time = facts.signalledAt, isClaimed(by: run.process, after: time) {
            report(run, "runs again, and was cancelled at \(time)")
        }
        if run.note.edition < facts.edition, isClaimed(by: run.process, after: facts.editedAt) {
            report(run, "runs with edition \(run.note.edition), and has edition \(facts.edition)")
        }
        if let queue = facts.queue, queue != run.queue, isClaimed(by: run.process, after: facts.movedAt) {
            report(run, "runs in \(run.queue), and was moved to \(queue)")
        }
    }

    func checkBars(_ run: Run) {
        for (hold, bar) in bars.holds[run.queue] ?? [:] where isClaimed(by: run.process, after: bar.since) {
            report(run, "runs under hold \(hold.rawValue)")
        }
        var gates: [GateName] = []
        if let gate = lines[run.note.line]?.facts.gate { gates.append(gate) }
        if run.note.role == .wide { gates.append(Role.gate) }
        for gate in gates {
            guard let bar = bars.gates[gate], isClaimed(by: run.process, after: bar.since) else { continue }
            report(run, "runs behind the closed gate \(gate)")
        }
    }
}
