#if Web
internal import Foundation
internal import Sluice

/// A list of queues, with acts on the selected ones or on all that match.
struct QueuesPage {
    let site: OperatorPage

    /// The most queues on a page of a list.
    static let queuesOnPage = 50

    /// More are read seldom enough to say so: see `Broker.observe(statuses:after:)`.
    private static let manyQueues = 10_000

    /// A list of queues, with acts on the selected ones or on all that match.
    func queueList(_ visit: Visit) async throws -> Page {
        try await site.board.waitForFirstRead(site.options.clock)
        let filter = try QueueFilter(visit.query)
        let sorting = visit.query["sort"].flatMap(QueueSorting.init(rawValue:)) ?? .trouble
        let start = visit.query["after"].flatMap(QueueSorting.Place.init)
        let extract = site.board.extract(filter, sorting, after: start, limit: Self.queuesOnPage)
        var page = Page("Queues", in: "Queues")
        page.add(filterForm(filter, sorting, visit))
        let count = "\(Widgets.count(extract.count, "queue")) of \(site.board.totals.queueCount)"
        page.add(page.live("count", "\(count)", as: "p"))
        if site.board.totals.queueCount > Self.manyQueues {
            page.add(
                """
                <p class="empty">Of so many queues, changes by other processes show here within a minute \
                and a half. The page of a queue shows them at once.</p>
                """
            )
        }
        if let name = filter.name, !visit.isLive { page.add(try await deadLetters(of: name, visit)) }
        let table = Widgets.table(
            "Queues",
            Widgets.selectAll(visit.mayAct) + QueueRows.columns,
            extract.lanes.map { QueueRows.row($0, visit, isSelectable: visit.mayAct) },
            isCut: extract.next != nil,
            empty: emptyText(extract, visit)
        )
        let matching = page.live("matching", "all \(extract.count) that match the filter", as: "span")
        let list = page.live("queues", table)
        page.add(Widgets.acts(ActButton.ofQueues, filter.form, matching: matching, list, visit))
        if let next = extract.next {
            let query = visit.query.setting("after", next.text)
            page.add(Widgets.nextPage(visit.link("/queues", query)))
        }
        return page
    }

    private func emptyText(_ extract: Board.Extract, _ visit: Visit) -> HTML {
        guard site.board.totals.isComplete else {
            return "The queues are being read; reload this page in a moment."
        }
        if extract.count > 0 {
            let first = visit.link("/queues", visit.query.setting("after", nil))
            return "No more queues follow here. <a href=\"\(first)\">Show the first page</a>"
        }
        return """
            No queue with work matches. <a href="\(visit.link("/queues"))">Show all queues</a>, or \
            <a href="\(visit.link("/enqueue"))">enqueue an action</a>.
            """
    }

    /// Whoever looks for a customer's queue may look for a message that has become a dead letter.
    private func deadLetters(of name: String, _ visit: Visit) async throws -> HTML {
        var filter = LetterFilter()
        if name.hasSuffix("/*") || name == "*" { filter.queue = name } else { filter.name = name }
        let limit = LetterFilter.readLimit
        let found = try await filter.extract(site.broker, limit: limit)
        guard !found.letters.isEmpty || found.last != nil else { return "" }
        let count = Widgets.count(found.letters.count, "dead letter")
        let more = found.last == nil ? "" : " among the newest \(limit)"
        let link = visit.link("/dead", filter.form)
        return "<p id=\"dead-count\"><a href=\"\(link)\">\(count) of such queues\(more)</a></p>"
    }

    private func filterForm(_ filter: QueueFilter, _ sorting: QueueSorting, _ visit: Visit) -> HTML {
        let states = QueueStatus.State.allCases.filter { $0 != .empty }.map { state -> HTML in
            let checked: HTML = filter.states.contains(state) ? " checked" : ""
            return """
                <label><input type="checkbox" name="state" value="\(state.rawValue)"\(checked)> \
                \(state.rawValue)</label>
                """
        }
        let kinds = site.board.kinds().map { "<option value=\"\(exact: $0)\"></option>" as HTML }
        let orders = QueueSorting.allCases.map { order -> HTML in
            """
            <option value="\(order.rawValue)"\(order == sorting ? " selected" : "" as HTML)>\
            \(order.name)</option>
            """
        }
        return """
            <form class="filter" method="get" action="\(visit.link("/queues"))" role="search">
            <label>Name <input type="search" name="name" value="\(exact: filter.name ?? "")" \
            placeholder="part of it, or mail/*" data-search></label>
            <label>Why <input type="search" name="because" value="\(exact: filter.because ?? "")" \
            placeholder="gate, no such room"></label>
            <label>Kind \
            <input type="search" name="kind" value="\(exact: filter.kind ?? "")" list="kinds"></label>
            <datalist id="kinds">\(kinds)</datalist>
            <label>Order <select name="sort">\(orders)</select></label>
            <fieldset><legend>State</legend>\(states)</fieldset>
            <label><input type="checkbox" name="needs" \
            value="person"\(filter.needsPerson ? " checked" : "" as HTML)> \
            needs a person</label>
            <button>Filter</button> <a class="button" href="\(visit.link("/queues"))">Clear</a></form>
            """
    }
}
#endif
