#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension ActionState {
    /// The word of the phase.
    private var state: String {
        switch phase {
        case .waiting: "waiting"
        case .scheduled: "scheduled"
        case .running: "running"
        case .retrying: "retrying"
        case .parked: "parked"
        case .dead, .ended(.deadLettered): "dead"
        case .ended(.succeeded): "succeeded"
        case .ended(.removed): "removed"
        case .ended(.unknown): "unknown"
        }
    }

    /// When the phase began, or ends by itself.
    private var time: Date? {
        switch phase {
        case .scheduled(let date), .running(let date), .retrying(let date), .parked(_, let date),
            .dead(_, let date):
            date
        case .waiting, .ended: nil
        }
    }

    /// The facts in lines, without those that are not known.
    var facts: [(String, String)] {
        var facts = [("id", id.description), ("state", state)]
        if let time { facts.append(("at", Times.text(time))) }
        if let ahead { facts.append(("ahead", String(ahead))) }
        facts += because.enumerated().map { ($0 == 0 ? "because" : "and because", $1.description) }
        guard let details else { return facts }
        return facts + [
            ("queue", details.queue.rawValue), ("kind", details.kind), ("tag", details.tag ?? ""),
            ("attempts", String(details.attempts)), ("last error", details.lastError ?? ""),
            ("enqueued at", Times.text(details.enqueuedAt)), ("payload", JSONText.onOneLine(details.payload)),
        ]
    }

    var members: [(name: String, value: String)] {
        [
            ("id", id.description), ("state", JSONText.string(state)),
            ("at", JSONText.string(time.map { Times.text($0) })),
            ("ahead", ahead.map { String($0) } ?? "null"),
            ("because", JSONText.array(because.map { JSONText.string($0.description) })),
            ("queue", JSONText.string(details?.queue.rawValue)), ("kind", JSONText.string(details?.kind)),
            ("tag", JSONText.string(details?.tag)),
            ("attempts", details.map { String($0.attempts) } ?? "null"),
            ("last_error", JSONText.string(details?.lastError)),
            ("enqueued_at", JSONText.string(details.map { Times.text($0.enqueuedAt) })),
            ("payload", details.map { JSONText.visible($0.payload) } ?? "null"),
        ]
    }
}
#endif
