#if Web
internal import Foundation
internal import Sluice

/// Pieces that several pages show.
enum Widgets {
    /// A time, relative to now, with the exact one as its title.
    static func time(_ date: Date, _ now: Date) -> HTML {
        let exact = exact(date)
        let seconds = date.timeIntervalSince(now)
        let text = seconds > 0 ? "in \(span(seconds))" : "\(span(-seconds)) ago"
        return "<time datetime=\"\(exact)\" title=\"\(exact)\">\(text)</time>"
    }

    /// A time in UTC with milliseconds.
    static func exact(_ date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }

    /// A span with one unit or two, such as `3 min 20 s`.
    static func span(_ seconds: Double) -> String {
        guard seconds >= 1 else { return "\(Int(max(seconds, 0) * 1_000)) ms" }
        let whole = Int(min(seconds, 1e12))
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3_600: return "\(whole / 60) min \(whole % 60) s"
        case ..<86_400: return "\(whole / 3_600) h \(whole % 3_600 / 60) min"
        default: return "\(whole / 86_400) d \(whole % 86_400 / 3_600) h"
        }
    }

    /// A number with its noun.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// The name of a queue, leading to its page.
    static func queue(_ name: QueueName, _ visit: Visit) -> HTML {
        "<a href=\"\(visit.link("/queue", "name", name.rawValue))\"><bdi>\(name.rawValue)</bdi></a>"
    }

    static func action(_ id: ActionID, _ visit: Visit) -> HTML {
        "<a href=\"\(visit.link("/action", "id", id))\">\(id.description)</a>"
    }

    /// The state of a queue: a word, with a mark that is not only a color.
    static func state(_ status: QueueStatus) -> HTML {
        let (kind, mark): (String, String) =
            switch status.trouble {
            case .needsPerson: ("bad", "✖")
            case .waits: ("wait", "◆")
            case .stopped: ("wait", "■")
            case .moves: ("good", "▶")
            case .scheduled, .empty: ("calm", "○")
            }
        return """
            <span class="state \(kind)"><span aria-hidden="true">\(mark)</span> \
            \(status.state.rawValue)</span>
            """
    }

    /// Why a queue does not move; the first reason, with the time until it ends, or all.
    static func because(_ because: some Sequence<WaitReason>, _ until: Date?, _ visit: Visit) -> HTML {
        let reasons = because.enumerated().map { index, because -> HTML in
            // Microseconds are for programs.
            let text = because.description.replacing(#/\.\d{6}Z/#, with: "Z")
            guard index == 0, let until else { return "<span class=\"because\">\(text)</span>" }
            // The other reasons have their time in words.
            let ends: HTML = if case .held = because { "ends " } else { "" }
            return "<span class=\"because\">\(text) (\(ends)\(time(until, visit.now)))</span>"
        }
        return "\(reasons)"
    }

    /// A link that looks like a button and leads to the question whether to act.
    ///
    /// - Parameter isOffered: Whether there is something to do now; else the button keeps its place.
    static func button(
        _ kind: Act.Kind,
        _ fields: Form,
        _ visit: Visit,
        _ name: String? = nil,
        isOffered: Bool = true
    ) -> HTML {
        guard visit.mayAct else { return "" }
        guard let button = kind.button else { return "" }
        let name = name ?? button.name
        guard isOffered else { return disabled(name) }
        var query = Form().setting("act", kind.rawValue)
        for field in fields.fields { query.add(field.name, field.value) }
        let style: HTML = button.isFinal ? "button final" : "button"
        return "<a class=\"\(style)\" href=\"\(visit.link("/confirm", query))\">\(name)</a> "
    }

    static func disabled(_ name: String) -> HTML { "<button type=\"button\" disabled>\(name)</button> " }

    /// A row of a table.
    struct Row {
        /// Unique in the table, and the same at each live update.
        let key: String
        /// Its cells.
        let cells: HTML
    }

    /// A table, or what to do without rows.
    ///
    /// - Parameter isCut: Whether there may be more rows: one that is not here may still exist.
    static func table(
        _ name: String,
        _ columns: [Column],
        _ rows: [Row],
        isCut: Bool = false,
        empty: HTML
    ) -> HTML {
        guard !rows.isEmpty else { return "<p class=\"empty\">\(empty)</p>" }
        let heads = columns.map(\.html)
        let rows = rows.map { "<tr data-key=\"\(exact: $0.key)\">\($0.cells)</tr>" as HTML }
        return """
            <div class="wide" tabindex="0" role="region" aria-label="\(name)">\
            <table\(isCut ? " data-cut" : "")>
            <thead><tr>\(heads)</tr></thead>
            <tbody>\(rows)</tbody></table></div>
            """
    }

    /// The head of the column of boxes.
    static func selectAll(_ isShown: Bool) -> [Column] {
        let box: HTML = "<input type=\"checkbox\" data-all aria-label=\"Select all on this page\">"
        return isShown ? [Column(box, .box)] : []
    }

    /// The box that selects a row.
    static func select(_ field: String, _ value: String, _ isShown: Bool) -> HTML {
        guard isShown else { return "" }
        return """
            <td><input type="checkbox" \(Form.attributes(field, value)) \
            aria-label="Select \(value)"></td>
            """
    }

    /// A form around a table, with acts on the selected rows or on all; the table alone without acts.
    ///
    /// - Parameters:
    ///   - all: The fields that say which ones are all.
    ///   - matching: Their name, such as "all 3 gates".
    ///   - more: Fields that the acts need.
    static func acts(
        _ kinds: [Act.Kind],
        _ all: Form,
        matching: HTML,
        more: HTML = "",
        _ table: HTML,
        _ visit: Visit
    ) -> HTML {
        guard visit.mayAct else { return table }
        return """
            <form class="list" method="post" action="\(visit.link("/confirm"))">\(all.hiddenFields)\
            \(Form().setting(ActForm.listField, visit.query.encoded).hiddenFields)
            <fieldset class="acts"><legend>Act on several</legend>\(more)\(kinds.map { choice($0) })
            <label><input type="radio" name="scope" value="selected" checked> those selected</label>
            <label><input type="radio" name="scope" value="matching" data-matching> \(matching)</label>
            </fieldset>
            \(table)</form>
            """
    }

    /// The button of an act in a form.
    static func choice(_ kind: Act.Kind) -> HTML {
        guard let button = kind.button else { return "" }
        let style: HTML = button.isFinal ? " class=\"final\"" : ""
        return "<button name=\"act\" value=\"\(kind.rawValue)\"\(style)>\(button.name)</button> "
    }

    /// The link below a table that goes on.
    static func nextPage(_ link: String) -> HTML {
        "<p><a class=\"next\" rel=\"next\" href=\"\(link)\">Next page</a></p>"
    }

    /// Pairs of a name and a value.
    static func facts(_ facts: [(String, HTML?)]) -> HTML {
        let rows = facts.compactMap { name, value in
            value.map { "<div><dt>\(name)</dt><dd>\($0)</dd></div>" as HTML }
        }
        return "<dl class=\"facts\">\(rows)</dl>"
    }
}
#endif
