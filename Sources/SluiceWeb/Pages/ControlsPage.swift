#if Web
internal import Foundation
internal import Sluice

/// The gates and the holds.
struct ControlsPage {
    let site: OperatorPage

    /// The most gates or holds on a page.
    private static let rowsOnPage = 200

    /// The gates that have been opened or closed.
    func gates(_ visit: Visit) async throws -> Page {
        var page = Page("Gates", in: "Gates")
        let after = visit.query["after"] ?? ""
        let all = try await site.broker.gates().filter { gate in
            after.utf8.lexicographicallyPrecedes(gate.name.rawValue.utf8)
        }
        let gates = Array(all.prefix(Self.rowsOnPage))
        let table = page.live("gates", Self.gateTable(gates, visit, isSelectable: visit.mayAct))
        page.add(Self.acts([.open, .close], on: "all gates", gates.isEmpty, table, visit))
        if all.count > gates.count, let last = gates.last {
            page.add(Widgets.nextPage(visit.link("/gates", "after", last.name.rawValue)))
        }
        guard visit.mayAct else { return page }
        page.add(
            """
            <h2>Another gate</h2><form class="acts" method="get" action="\(visit.link("/confirm"))">
            <label>Name <input name="gate" required></label>
            <button name="act" value="open">Open</button> \
            <button name="act" value="close">Close</button></form>
            """
        )
        return page
    }

    private static func acts(
        _ verbs: [Verb],
        on all: HTML,
        _ isEmpty: Bool,
        _ table: HTML,
        _ visit: Visit
    ) -> HTML {
        isEmpty || !visit.mayAct ? table : Widgets.acts(verbs, Form(), matching: all, table, visit)
    }

    static func gateTable(_ gates: [Gate], _ visit: Visit, isSelectable: Bool) -> HTML {
        Widgets.table(
            "Gates",
            Widgets.selectAll(isSelectable) + ["Gate", "State", "Since", "Opens", "Act"],
            gates.map { gate in
                let fields = Form().setting("gate", gate.name.rawValue)
                return """
                    <tr>\(Widgets.select("gate", gate.name.rawValue, isSelectable))\
                    <th scope="row"><bdi>\(gate.name.rawValue)</bdi></th>\
                    <td>\(gate.isOpen ? "open" : "closed")</td>\
                    <td>\(Widgets.time(gate.since, visit.now))</td>\
                    <td>\(gate.opensAt.map { Widgets.time($0, visit.now) })</td>\
                    <td>\(Widgets.button(gate.isOpen ? .close : .open, fields, visit))</td></tr>
                    """
            },
            empty: """
                No gate has been opened or closed. A gate that actions wait for is closed until somebody \
                opens it.
                """
        )
    }

    /// The current holds.
    func holds(_ visit: Visit) async throws -> Page {
        var page = Page("Holds", in: "Holds")
        let after = try visit.query["after"].map { try HoldID(field: $0) }
        let all = try await site.broker.holds().filter { $0.id.rawValue > after?.rawValue ?? 0 }
        let holds = Array(all.prefix(Self.rowsOnPage))
        let table = page.live("holds", Self.holdTable(holds, visit, isSelectable: visit.mayAct))
        page.add(Self.acts([.end], on: "all holds", holds.isEmpty, table, visit))
        if all.count > holds.count, let last = holds.last {
            page.add(Widgets.nextPage(visit.link("/holds", "after", last.id)))
        }
        guard visit.mayAct else { return page }
        page.add(
            """
            <h2>Hold queues</h2><form class="acts" method="get" action="\(visit.link("/confirm"))">
            <input type="hidden" name="act" value="hold">
            <label>Queue, prefix/* or * for all <input name="queue" required></label> \
            <button>Hold</button></form>
            """
        )
        return page
    }

    static func holdTable(_ holds: [Hold], _ visit: Visit, isSelectable: Bool) -> HTML {
        Widgets.table(
            "Holds",
            Widgets.selectAll(isSelectable) + ["Hold", "Queues", "By", "Reason", "Since", "Until", "Act"],
            holds.map { hold in
                let fields = Form().setting("hold", hold.id.description)
                return """
                    <tr>\(Widgets.select("hold", hold.id.description, isSelectable))\
                    <th scope="row">\(hold.id.description)</th>\
                    <td><bdi>\(hold.pattern.rawValue)</bdi></td><td>\(hold.holder)</td>\
                    <td>\(hold.reason)</td><td>\(Widgets.time(hold.since, visit.now))</td>\
                    <td>\(hold.until.map { Widgets.time($0, visit.now) })</td>\
                    <td>\(Widgets.button(.end, fields, visit))</td></tr>
                    """
            },
            empty: "Nothing is held."
        )
    }
}

extension HoldID {
    /// Reads a number from the field of a query or a form.
    init(field text: String) throws(PageError) {
        guard let number = Int64(text) else {
            throw PageError(.invalid, "'\(text)' is no number of a hold")
        }
        self.init(rawValue: number)
    }
}
#endif
