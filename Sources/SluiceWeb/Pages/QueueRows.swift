#if Web
internal import Foundation
internal import Sluice

/// Queues as rows of a table.
enum QueueRows {
    static let columns: [Column] = ["Queue", .word("State"), "Why", .number("Actions"), .time("Oldest")]

    /// A short list without acts.
    static func table(_ lanes: [Board.Lane], _ visit: Visit, isCut: Bool, empty: HTML) -> HTML {
        Widgets.table(
            "Queues",
            columns,
            lanes.map { row($0, visit, isSelectable: false) },
            isCut: isCut,
            empty: empty
        )
    }

    static func row(_ lane: Board.Lane, _ visit: Visit, isSelectable: Bool) -> Widgets.Row {
        let status = lane.status
        let name = status.queue.rawValue
        let oldest = status.oldestEnqueuedAt.map { Widgets.time($0, visit.now) } ?? ""
        let cells: HTML = """
            \(Widgets.select("queue", name, isSelectable))\
            <th scope="row">\(Widgets.queue(status.queue, visit))</th>\
            <td>\(Widgets.state(status))</td>\
            <td>\(Widgets.because(status.because.prefix(1), status.blockedUntil, visit))\(error(status))</td>\
            <td class="number">\(status.depth)</td><td>\(oldest)</td>
            """
        return Widgets.Row(key: name, cells: cells)
    }

    /// The last error, if the reason does not have it.
    private static func error(_ status: QueueStatus) -> HTML {
        guard let error = status.lastError, status.because.first?.description.contains(error) != true else {
            return ""
        }
        return "<span class=\"error\">\(String(error.prefix(200)))</span>"
    }
}
#endif
