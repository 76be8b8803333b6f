#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension ActionState {
    /// What the file has about an action beside its state.
    typealias KeyAndGroups = (key: String?, groups: ActionGroups)

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
    func facts(_ more: KeyAndGroups) -> [(String, String)] {
        var facts = [("id", id.description), ("state", state)]
        if let time { facts.append(("at", Times.text(time))) }
        if let ahead { facts.append(("ahead", String(ahead))) }
        facts += because.enumerated().map { ($0 == 0 ? "because" : "and because", $1.description) }
        guard let details else { return facts }
        facts += [
            ("queue", details.queue.rawValue), ("kind", details.kind), ("tag", details.tag ?? ""),
            ("sort key", details.sortKey.shown), ("key", more.key ?? ""),
            ("gate", details.gate?.rawValue ?? ""),
        ]
        facts += [
            ("starts groups", more.groups.started.map(\.rawValue).joined(separator: ", ")),
            ("member of", more.groups.joined.map(\.rawValue).joined(separator: ", ")),
            ("expires at", details.expiresAt.map { Times.text($0) } ?? ""),
            ("version", details.version == 1 ? "" : String(details.version)),
        ]
        return facts + [
            ("attempts", String(details.attempts)), ("last error", details.lastError ?? ""),
            ("enqueued at", Times.text(details.enqueuedAt)), ("payload", JSONText.onOneLine(details.payload)),
        ]
    }

    func members(_ more: KeyAndGroups) -> [(name: String, value: String)] {
        var members: [(name: String, value: String)] = [
            ("id", id.description), ("state", JSONText.string(state)),
            ("at", JSONText.string(time.map { Times.text($0) })),
            ("ahead", ahead.map { String($0) } ?? "null"),
            ("because", JSONText.array(because.map { JSONText.string($0.description) })),
            ("queue", JSONText.string(details?.queue.rawValue)), ("kind", JSONText.string(details?.kind)),
            ("tag", JSONText.string(details?.tag)),
        ]
        members += [
            ("sort_type", JSONText.string(details?.sortKey.kind.rawValue)),
            ("sort_key", details.flatMap { TransferLine.key($0.sortKey) } ?? "null"),
            ("key", JSONText.string(more.key)), ("gate", JSONText.string(details?.gate?.rawValue)),
            ("starts_groups", JSONText.array(more.groups.started.map { JSONText.string($0.rawValue) })),
            ("member_of", JSONText.array(more.groups.joined.map { JSONText.string($0.rawValue) })),
            ("expires_at", JSONText.string(details?.expiresAt.map { Times.text($0) })),
            ("version", details.map { String($0.version) } ?? "null"),
        ]
        return members + [
            ("attempts", details.map { String($0.attempts) } ?? "null"),
            ("last_error", JSONText.string(details?.lastError)),
            ("enqueued_at", JSONText.string(details.map { Times.text($0.enqueuedAt) })),
            ("payload", details.map { JSONText.visible($0.payload) } ?? "null"),
        ]
    }
}

extension SortKey {
    /// The key for people; empty in order of arrival.
    fileprivate var shown: String {
        switch value {
        case .arrival: ""
        case .integer(let value): String(value)
        case .time(let value): Times.text(value)
        case .real(let value): "\(value)"
        case .text(let value), .composite(let value): value
        }
    }
}
#endif
