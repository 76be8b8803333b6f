#if CommandLineTool
internal import Foundation
internal import Sluice

/// Display of an action.
extension ActionSummary {
    /// How much of a payload a row of the table shows.
    private static let payloadLength = 60

    /// - Parameter parking: The actions that have parked their queues.
    static func table(
        _ actions: some Sequence<ActionSummary>,
        parking: Set<ActionID>,
        at now: Date = Date()
    ) -> Table {
        var table = Table([
            .init(heading: "ID", isNumber: true), .init(heading: "QUEUE", cut: .middle),
            .init(heading: "KIND", isExtra: true), .init(heading: "SORT KEY", isExtra: true),
            .init(heading: "ATTEMPTS", isNumber: true, isExtra: true),
            .init(heading: "STATE", hasTimes: true),
            .init(heading: "PAYLOAD"),
        ])
        for action in actions {
            table.add([
                action.id.description, action.queue.rawValue, action.kind, action.sortKey ?? "",
                String(action.attempts), action.state(at: now, hasParked: parking.contains(action.id)),
                Visible.beginning(of: JSONText.onOneLine(action.payload), count: payloadLength),
            ])
        }
        return table
    }

    /// Its state or the time that it waits for, in words.
    ///
    /// What else keeps its queue, `sluice queues` says.
    ///
    /// - Parameter hasParked: Whether it has parked its queue.
    func state(at now: Date, hasParked: Bool = false) -> String {
        if let time = runningSince { return "running since \(Times.text(time))" }
        if hasParked { return "parked" }
        if let time = nextAttemptAt, time > now { return "retry at \(Times.text(time))" }
        if let time = notBefore, time > now { return "scheduled for \(Times.text(time))" }
        return "waiting"
    }

    var json: String { JSONText.object(members) }

    /// The facts of an action, with the same names in every verb.
    var members: [(name: String, value: String)] {
        [
            ("id", id.description),
            ("queue", JSONText.string(queue.rawValue)),
            ("kind", JSONText.string(kind)),
            ("sort_key", JSONText.string(sortKey)),
            ("attempts", String(attempts)),
            ("running_since", JSONText.string(runningSince.map(Times.text))),
            ("next_attempt_at", JSONText.string(nextAttemptAt.map(Times.text))),
            ("not_before", JSONText.string(notBefore.map(Times.text))),
            ("enqueued_at", JSONText.string(Times.text(enqueuedAt))),
            ("last_error", JSONText.string(lastError)),
            ("payload", JSONText.visible(payload)),
        ]
    }
}
#endif
