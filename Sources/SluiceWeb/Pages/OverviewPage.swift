#if Web
internal import Foundation
internal import Sluice

/// All queues together, and first the ones in trouble.
struct OverviewPage {
    let site: OperatorPage

    private static let queuesOnPage = 10

    /// All queues together, and the first ten that need a person or wait.
    func overview(_ visit: Visit) async throws -> Page {
        try await site.board.waitForFirstRead(site.options.clock)
        var page = Page("Overview", in: "Overview")
        let totals = site.board.totals
        let still = site.board.extract(QueueFilter(), .trouble, limit: Self.queuesOnPage).lanes
            .filter { $0.trouble < .moves }
        page.add(page.live("numbers", numbers(totals, visit)))
        page.add("<h2>What needs a person, and what waits</h2>")
        let empty: HTML =
            totals.isComplete ? "No queue needs a person or waits." : "The queues are being read."
        let isCut = still.count == Self.queuesOnPage
        page.add(page.live("trouble", QueueRows.table(still, visit, isCut: isCut, empty: empty)))
        page.add(
            """
            <form class="filter" method="get" action="\(visit.link("/queues"))" role="search">
            <label>Queue <input type="search" name="name" placeholder="part of its name" data-search></label>
            <button>Find</button> \
            <a href="\(visit.link("/queues"))">All \(totals.queueCount) queues, in this order</a></form>
            """
        )
        page.add("<h2>Since this server was started, ten minutes at most</h2>")
        page.add(page.live("plots", plots()))
        return page
    }

    private func numbers(_ totals: Board.Totals, _ visit: Visit) -> HTML {
        let states = QueueStatus.State.allCases.compactMap { state -> HTML? in
            guard let count = totals.states[state], count > 0 else { return nil }
            var filter = QueueFilter()
            filter.states = [state]
            return "<li><a href=\"\(visit.link("/queues", filter.form))\">\(count) \(state.rawValue)</a></li>"
        }
        let facts = site.surroundings.facts
        let living = (facts.runners ?? []).filter(\.isAlive)
        let names = living.isEmpty ? "none" : living.map(\.name).joined(separator: ", ")
        let leaseEnd = living.compactMap(\.leaseEnd).min().map { lease -> HTML in
            ", lease ends \(Widgets.time(lease, visit.now))"
        }
        let runners: HTML = "<a href=\"\(visit.link("/runners"))\">\(names)</a>\(leaseEnd)"
        let letters = facts.letterCount.map { count -> HTML in
            "<a href=\"\(visit.link("/dead"))\">\(count)</a>"
        }
        let oldest = site.board.oldestAge(at: visit.now).map { Widgets.span($0 / .seconds(1)) }
        return """
            \(Widgets.facts(
                [
                    ("Queues with work", "\(totals.queueCount)"), ("Actions", "\(totals.actionCount)"),
                    ("Running", "\(totals.states[.running] ?? 0)"), ("Oldest action", oldest.map { "\($0)" }),
                    ("Dead letters", letters),
                    ("Holds", "<a href=\"\(visit.link("/holds"))\">\(facts.holdCount)</a>"),
                    ("Runners", site.options.facts == nil ? nil : runners),
                ] + facts.sizes.map { ($0.name, "\($0.value)") }
            ))
            <ul class="states" aria-label="Queues by state">\(states)</ul>
            """
    }

    private func plots() -> HTML {
        let samples = site.rates.samples
        return """
            <div class="plots">\
            \(Plot(name: "Enqueued", unit: " a second", values: samples.map(\.enqueued)).html)\
            \(Plot(name: "Ended", unit: " a second", values: samples.map(\.ended)).html)\
            \(Plot(name: "Latency: oldest that waits", unit: " s", values: samples.map(\.age)).html)</div>
            """
    }
}
#endif
