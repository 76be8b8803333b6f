#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Draws the picture of a watch as lines of a screen.
struct WatchDrawing {
    let title: String
    let size: ScreenSize
    let paint: Paint
    var now = Date()

    /// Lines above the lanes and below them.
    private static let headerHeight = 4
    private static let footerHeight = 1
    private static let barWidth = 8

    /// How many lanes fit on the screen.
    var pageSize: Int { max(size.rows - Self.headerHeight - Self.footerHeight, 1) }

    func lines(_ model: WatchModel) -> [String] {
        if model.mode == .help { return help }
        if model.mode == .details, let details = model.details {
            return screen(of: details, from: model.detailTop)
        }
        var lines = [header(model.picture), totals(model), "", paint(headings, .bold)]
        let deepest = model.lanes.reduce(1) { max($0, $1.status.depth) }
        for (index, lane) in model.lanes.enumerated().dropFirst(model.top).prefix(pageSize) {
            lines.append(line(lane, deepest: deepest, isSelected: index == model.selectedIndex))
        }
        if model.lanes.isEmpty {
            lines.append(paint(model.filter.isEmpty ? "  no queue has work" : "  no queue matches", .dim))
        }
        while lines.count < size.rows - Self.footerHeight { lines.append("") }
        return Array(lines.prefix(size.rows - Self.footerHeight)) + [footer(model)]
    }

    // MARK: - Above

    private func header(_ picture: WatchPicture) -> String {
        let names = picture.runners.joined(separator: ", ")
        let runner =
            switch picture.runners.count {
            case 0: "no process runs the queues"
            case 1: "process \(names) runs the queues"
            default: "processes \(names) run the queues"
            }
        let left = DisplayWidth.cut("sluice watch  \(Visible.text(title))", size.columns)
        let room = size.columns - DisplayWidth.of(left) - 2
        return paint(left, .bold)
            + (room > 0
                ? "  " + paint(DisplayWidth.cut(runner, room), picture.runners.isEmpty ? .yellow : .dim) : "")
    }

    private func totals(_ model: WatchModel) -> String {
        let picture = model.picture
        typealias Part = (text: String, style: Paint.Style?)
        let counts: [Part] = [
            ("\(picture.lanes.count) queues", nil), ("\(picture.actionCount) actions", nil),
        ]
        let rates: [Part] = [
            ("in \(Self.rate(picture.rateIn))/s", nil), ("out \(Self.rate(picture.rateOut))/s", nil),
        ]
        let states = WatchPicture.stateOrder.compactMap { state -> Part? in
            picture.states[state].map { ("\($0) \(state.rawValue)", Paint.style(of: state)) }
        }
        func width(_ parts: [Part]) -> Int { parts.reduce(-2) { $0 + DisplayWidth.of($1.text) + 2 } }
        // The states matter more than the rates.
        let parts = width(counts + rates + states) <= size.columns ? counts + rates + states : counts + states
        let room = width(parts) <= size.columns ? size.columns : size.columns - 3
        var line = ""
        var used = 0
        for (text, style) in parts {
            let width = DisplayWidth.of(text) + (used > 0 ? 2 : 0)
            if used + width > room { return line + "  …" }
            line += (used > 0 ? "  " : "") + paint(text, style)
            used += width
        }
        return line
    }

    // MARK: - Lanes

    /// Whether there is room only for the essential columns.
    private var isNarrow: Bool { size.columns < Self.wideColumns }
    /// With fewer, the bar and the rates would take room that the reason needs.
    private static let wideColumns = 120

    /// The widths left for the name and the reason, which a wider screen never cuts more.
    private var widths: (name: Int, because: Int) {
        let fixed = 2 + 8 + 13 + 10 + 1 + (isNarrow ? 0 : Self.barWidth + 1 + 2 * 8)
        let room = max(size.columns - fixed, 16)
        let leastName = min(max(room * 2 / 5, 8), 18)
        let because = min(max(room - leastName - 1, 0), 40)
        let name = min(room - because - 1, 48)
        return (name, room - name - 1)
    }

    private var headings: String {
        line(
            marker: " ",
            name: "QUEUE",
            bar: "",
            depth: "DEPTH",
            state: "STATE",
            rates: ("IN/S", "OUT/S"),
            age: "OLDEST",
            because: "BECAUSE",
            style: nil
        )
    }

    private func line(_ lane: WatchPicture.Lane, deepest: Int, isSelected: Bool) -> String {
        let queue = lane.status
        return line(
            marker: isSelected ? paint("▶", .bold) : " ",
            name: Visible.text(queue.queue.rawValue),
            bar: Self.bar(queue.depth, of: deepest),
            depth: String(queue.depth),
            state: queue.state.rawValue,
            rates: (Self.rate(lane.rateIn), Self.rate(lane.rateOut)),
            age: Times.short(queue.oldestAge(at: now)),
            because: Visible.text(queue.briefReason(at: now)),
            style: Paint.style(of: queue.state)
        )
    }

    private func line(
        marker: String,
        name: String,
        bar: String,
        depth: String,
        state: String,
        rates: (in: String, out: String),
        age: String,
        because: String,
        style: Paint.Style?
    ) -> String {
        var cells = [marker, DisplayWidth.fitMiddle(name, widths.name)]
        if !isNarrow { cells.append(paint(DisplayWidth.fit(bar, Self.barWidth), style)) }
        cells += [
            DisplayWidth.fit(depth, 7, isNumber: true), paint(DisplayWidth.fit(state, 12), style),
        ]
        if !isNarrow {
            cells += [rates.in, rates.out].map { DisplayWidth.fit($0, 7, isNumber: true) }
        }
        cells += [DisplayWidth.fit(age, 9, isNumber: true), " " + DisplayWidth.cut(because, widths.because)]
        return cells.joined(separator: " ")
    }

    /// Returns a bar with the logarithm of a depth: one action is visible beside a million.
    static func bar(_ depth: Int, of deepest: Int) -> String {
        let blocks: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]
        func bits(_ value: Int) -> Int { Int.bitWidth - max(value, 0).leadingZeroBitCount }
        guard depth > 0 else { return String(repeating: " ", count: barWidth) }
        let eighths = max(bits(depth) * barWidth * 8 / max(bits(deepest), 1), 1)
        let full = min(eighths / 8, barWidth)
        let rest = full < barWidth && eighths % 8 > 0 ? String(blocks[eighths % 8 - 1]) : ""
        return DisplayWidth.fit(String(repeating: "█", count: full) + rest, barWidth)
    }

    static func rate(_ rate: Double?) -> String {
        guard let rate else { return "–" }
        if rate < 0.05 { return "0" }
        let tenths = Int((rate * 10).rounded())
        return rate < 10 ? "\(tenths / 10).\(tenths % 10)" : String(Int(rate.rounded()))
    }

    // MARK: - Below

    /// A queue's name for the last line, where it must leave room for the rest.
    func name(of queue: QueueName) -> String {
        DisplayWidth.cutMiddle(Visible.text(queue.rawValue), max(size.columns / 3, 8))
    }

    private func footer(_ model: WatchModel) -> String {
        let text: String
        switch model.mode {
        case .confirm(.skip(let queue, let head)):
            text = "y: skip \(head) of \(name(of: queue))?  It becomes a dead letter; other keys: no"
        case .filter: text = "filter: \(Visible.text(model.filter))▏  Enter keeps it, Esc clears it"
        case .confirm, .help, .details, .lanes:
            let shown = model.filter.isEmpty ? "" : "filter: \(Visible.text(model.filter))  "
            text =
                model.message.isEmpty
                ? shown + WatchModel.keys.map { "\($0.key) \($0.short)" }.joined(separator: "  ")
                : Visible.text(model.message)
        }
        return paint(DisplayWidth.fit(text, size.columns), .reversed)
    }

    private var help: [String] {
        let lines =
            // First, so that a low screen shows it.
            ["Keys. Any key returns.", ""] + WatchModel.keys.map { DisplayWidth.fit($0.key, 10) + $0.long }
            + [
                "",
                "Queues that need an operator are first, then those that wait, then the others,",
                "each from the oldest. Rates count actions added and removed since the last poll.",
            ]
        return lines.map { DisplayWidth.cut($0, size.columns) }
    }
}

extension WatchModel {
    /// The keys, for the line at the bottom and for the help.
    static let keys = [
        (key: "↑↓", short: "select", long: "select a queue; also j, k, PgUp, PgDn, Home, End"),
        (key: "Enter", short: "details", long: "show all about the queue and its head; Esc goes back"),
        (key: "p", short: "pause", long: "hold the queue, or end its hold"),
        (key: "r", short: "retry", long: "try its head again now, and unpark it"),
        (key: "s", short: "skip", long: "make its head a dead letter and continue; asks first"),
        (key: "/", short: "filter", long: "show only queues whose name or state holds a text"),
        (key: "?", short: "help", long: "this page"),
        (key: "q", short: "quit", long: "leave"),
    ]
}
#endif
