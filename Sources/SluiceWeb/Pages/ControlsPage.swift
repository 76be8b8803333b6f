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
        let rows = all.prefix(Self.rowsOnPage).map { ($0.name, Optional($0)) }
        let isCut = all.count > Self.rowsOnPage
        let table = Self.gateTable(rows, visit, isSelectable: visit.mayAct, isCut: isCut)
        let list = page.live("gates", table)
        page.add(Widgets.acts([.openGate, .closeGate], Form(), matching: "all gates", list, visit))
        if all.count > Self.rowsOnPage {
            let last = all[Self.rowsOnPage - 1].name.rawValue
            page.add(Widgets.nextPage(visit.link("/gates", "after", last)))
        }
        guard visit.mayAct else { return page }
        page.add(
            """
            <h2>Another gate</h2><form class="acts" method="get" action="\(visit.link("/confirm"))">
            <label>Name <input name="gate" required></label>
            \(Widgets.choice(.openGate))\(Widgets.choice(.closeGate))</form>
            """
        )
        return page
    }

    /// - Parameter gates: The names, each with its state, if somebody has ever set it.
    static func gateTable(
        _ gates: [(GateName, Gate?)],
        _ visit: Visit,
        isSelectable: Bool,
        isCut: Bool = false
    ) -> HTML {
        Widgets.table(
            "Gates",
            Widgets.selectAll(isSelectable) + [
                "Gate", "State", .time("Since"), .time("Opens"), .word("Act"),
            ],
            gates.map { name, gate in
                let fields = Form().setting("gate", name.rawValue)
                let isOpen = gate?.isOpen == true
                let state = isOpen ? "open" : gate == nil ? "closed, as nobody has opened it" : "closed"
                let cells: HTML = """
                    \(Widgets.select("gate", name.rawValue, isSelectable))\
                    <th scope="row"><bdi>\(name.rawValue)</bdi></th><td>\(state)</td>\
                    <td>\(gate.map { Widgets.time($0.since, visit.now) })</td>\
                    <td>\(gate?.opensAt.map { Widgets.time($0, visit.now) })</td>\
                    <td>\(Widgets.button(isOpen ? .closeGate : .openGate, fields, visit))</td>
                    """
                return Widgets.Row(key: name.rawValue, cells: cells)
            },
            isCut: isCut,
            empty: """
                No gate here has been opened or closed. A gate that actions wait for is closed until \
                somebody opens it.
                """
        )
    }

    /// The current holds.
    func holds(_ visit: Visit) async throws -> Page {
        var page = Page("Holds", in: "Holds")
        let after = try visit.query["after"].map { try HoldID(field: $0) }
        let all = try await site.broker.holds().filter { $0.id.rawValue > after?.rawValue ?? 0 }
        let holds = Array(all.prefix(Self.rowsOnPage))
        let isCut = all.count > Self.rowsOnPage
        let table = Self.holdTable(holds, visit, isSelectable: visit.mayAct, isCut: isCut)
        let list = page.live("holds", table)
        page.add(Widgets.acts([.endHold], Form(), matching: "all holds", list, visit))
        if all.count > Self.rowsOnPage {
            page.add(Widgets.nextPage(visit.link("/holds", "after", all[Self.rowsOnPage - 1].id)))
        }
        guard visit.mayAct else { return page }
        page.add(
            """
            <h2>Hold queues</h2><form class="acts" method="get" action="\(visit.link("/confirm"))">
            <input type="hidden" name="act" value="\(Act.Kind.hold.rawValue)">
            <label>Queue, prefix/* or * for all <input name="queue" required></label> \
            <button>Hold</button></form>
            """
        )
        return page
    }

    static func holdTable(
        _ holds: [Hold],
        _ visit: Visit,
        isSelectable: Bool,
        isCut: Bool = false
    ) -> HTML {
        Widgets.table(
            "Holds",
            Widgets.selectAll(isSelectable) + [
                .id("Hold"), "Queues", "By", "Reason", .time("Since"), .time("Until"), .word("Act"),
            ],
            holds.map { hold in
                let fields = Form().setting("hold", hold.id.description)
                let cells: HTML = """
                    \(Widgets.select("hold", hold.id.description, isSelectable))\
                    <th scope="row">\(hold.id.description)</th>\
                    <td><bdi>\(hold.pattern.rawValue)</bdi></td><td>\(hold.holder)</td>\
                    <td>\(hold.reason)</td><td>\(Widgets.time(hold.since, visit.now))</td>\
                    <td>\(hold.until.map { Widgets.time($0, visit.now) })</td>\
                    <td>\(Widgets.button(.endHold, fields, visit))</td>
                    """
                return Widgets.Row(key: hold.id.description, cells: cells)
            },
            isCut: isCut,
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
