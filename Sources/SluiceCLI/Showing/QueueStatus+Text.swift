#if CommandLineTool
internal import Foundation
internal import Sluice

/// Display of a queue.
extension QueueStatus {
    /// The longest reason in a table.
    private static let reasonWidth = 200

    /// - Parameter isShort: Whether ages and reasons are as `watch` shows them, with durations of one unit.
    static func table(
        _ queues: some Sequence<QueueStatus>,
        isShort: Bool = Terminal.columns != nil,
        at now: Date = Date()
    ) -> Table {
        var table = Table([
            .init(heading: "QUEUE", cut: .middle), .init(heading: "DEPTH", isNumber: true),
            .init(heading: "STATE"),
            .init(heading: "HEAD", isNumber: true), .init(heading: "KIND", isExtra: true),
            .init(heading: "ATTEMPT", isNumber: true, isExtra: true),
            .init(heading: "OLDEST", isNumber: true),
            .init(heading: "BECAUSE", cut: .end),
        ])
        for queue in queues {
            let text = queue.briefReason(at: isShort ? now : nil)
            let age = queue.oldestAge(at: now)
            table.add(
                [
                    queue.queue.rawValue, String(queue.depth), queue.state.rawValue,
                    queue.head?.description ?? "", queue.headKind ?? "", String(queue.attempt),
                    isShort ? Times.short(age) : Times.span(age),
                    DisplayWidth.cut(Visible.text(text), reasonWidth),
                ],
                styles: [2: Paint.style(of: queue.state)].compactMapValues { $0 }
            )
        }
        return table
    }

    /// How long its oldest action has been in the queue.
    func oldestAge(at now: Date = Date()) -> Duration {
        .seconds(max(oldestEnqueuedAt.map(now.timeIntervalSince) ?? 0, 0))
    }

    /// The first reason why it does not move, in words.
    var firstReason: String { because.first?.description ?? "" }

    /// The last error, if the first reason does not contain it.
    var untoldError: String? {
        lastError.flatMap { firstReason.hasSuffix($0) ? nil : $0 }
    }

    /// The first reason why it does not move, with the last error if the reason does not contain it.
    var reason: String {
        untoldError.map { "\(firstReason); \($0)" } ?? firstReason
    }

    /// The action that has parked the queue.
    var parkingAction: ActionID? {
        because.lazy.compactMap { if case .parked(let action, _, _, _) = $0 { action } else { nil } }.first
    }

    /// Whether a hold covers it, whatever else keeps it.
    var isHeld: Bool { because.contains { $0.state == .held } }

    var json: String { JSONText.object(members) }

    /// The facts of a queue, with the same names in every verb.
    var members: [(name: String, value: String)] {
        [
            ("queue", JSONText.string(queue.rawValue)),
            ("depth", String(depth)),
            ("state", JSONText.string(state.rawValue)),
            ("because", JSONText.string(firstReason)),
            ("reasons", JSONText.array(because.map { JSONText.string($0.description) })),
            ("parked_by", parkingAction?.description ?? "null"),
            ("head", head?.description ?? "null"),
            ("head_kind", JSONText.string(headKind)),
            ("attempt", String(attempt)),
            ("blocked_until", JSONText.string(blockedUntil.map { Times.text($0) })),
            ("oldest_age_s", String(oldestAge().components.seconds)),
            ("last_error", JSONText.string(lastError)),
        ]
    }
}
#endif
