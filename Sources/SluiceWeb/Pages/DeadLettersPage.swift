#if Web
internal import Foundation
internal import Sluice

/// The dead letters, with acts on the selected ones or on all that match.
struct DeadLettersPage {
    let site: OperatorPage

    /// The most dead letters on a page.
    static let lettersOnPage = 50

    /// Dead letters, the newest first.
    func deadLetters(_ visit: Visit) async throws -> Page {
        var page = Page("Dead letters", in: "Dead letters")
        let filter = try LetterFilter(visit.query)
        let start = try visit.query["after"].map(DeadLetterPlace.init(field:))
        let extract = try await filter.extract(site.broker, after: start, limit: Self.lettersOnPage)
        page.add(letterFilterForm(filter, visit))
        // Counted now: beside a list that is newer, an older count would be wrong.
        if let count = try await (site.options.facts as? any LetterFacts)?.deadLetterCount() {
            page.add(page.live("count", "\(Widgets.count(count, "dead letter")) in all", as: "p"))
        }
        let table = page.live("letters", letterTable(extract, filter, visit))
        let matching: HTML = "all that match the filter"
        page.add(Widgets.acts(ActButton.ofLetters, filter.form, matching: matching, table, visit))
        if let last = extract.last {
            let query = visit.query.setting("after", last.field)
            page.add(Widgets.nextPage(visit.link("/dead", query)))
        }
        return page
    }

    private func letterTable(
        _ extract: LetterFilter.Extract,
        _ filter: LetterFilter,
        _ visit: Visit
    ) -> HTML {
        let columns =
            Widgets.selectAll(visit.mayAct)
            + [
                .id("Action"), "Queue", "Kind", .word("Cause"), .number("Attempts"), .time("Died"), "Error",
            ]
        return Widgets.table(
            "Dead letters",
            columns,
            extract.letters.map { letter in
                let cells: HTML = """
                    \(Widgets.select("letter", letter.id.description, visit.mayAct))\
                    <th scope="row">\(Widgets.action(letter.id, visit))</th>\
                    <td>\(Widgets.queue(letter.queue, visit))</td><td>\(letter.kind)</td>\
                    <td>\(letter.cause.rawValue)</td><td class="number">\(letter.attempts)</td>\
                    <td>\(Widgets.time(letter.diedAt, visit.now))</td>\
                    <td class="error">\(String(letter.error.prefix(200)))</td>
                    """
                return Widgets.Row(key: letter.id.description, cells: cells)
            },
            isCut: extract.last != nil,
            empty: emptyText(extract, filter, visit)
        )
    }

    private func emptyText(
        _ extract: LetterFilter.Extract,
        _ filter: LetterFilter,
        _ visit: Visit
    ) -> HTML {
        if extract.last != nil {
            return "None of the \(LetterFilter.readLimit) that were read matches: the next page reads on."
        }
        if visit.query["after"] != nil {
            let first = visit.link("/dead", visit.query.setting("after", nil))
            return "No more dead letters follow here. <a href=\"\(first)\">Show the first page</a>"
        }
        if filter.isEmpty { return "There are no dead letters: no action has ended without success." }
        return "No dead letter matches. <a href=\"\(visit.link("/dead"))\">Show all</a>"
    }

    private func letterFilterForm(_ filter: LetterFilter, _ visit: Visit) -> HTML {
        let causes = FailureCause.allCases.map { cause -> HTML in
            "<option\(cause == filter.cause ? " selected" : "" as HTML)>\(cause.rawValue)</option>"
        }
        return """
            <form class="filter" method="get" action="\(visit.link("/dead"))" role="search">
            <label>Name <input type="search" name="name" value="\(exact: filter.name ?? "")" \
            placeholder="part of the queue's name" data-search></label>
            <label>Kind <input type="search" name="kind" value="\(exact: filter.kind ?? "")"></label>
            <label>Queue <input type="search" name="queue-pattern" value="\(exact: filter.queue ?? "")" \
            placeholder="a name, or mail/*"></label>
            <label>Cause <select name="cause"><option value="">any</option>\(causes)</select></label>
            <button>Filter</button> <a class="button" href="\(visit.link("/dead"))">Clear</a></form>
            """
    }
}

extension DeadLetterPlace {
    /// Its text in a query.
    fileprivate var field: String { "\(diedAt.microseconds)-\(id)" }

    fileprivate init(field text: String) throws(PageError) {
        let parts = text.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]) else {
            throw PageError(.invalid, "'\(text)' is no place of a dead letter: begin at the first page")
        }
        self.init(diedAt: Timestamp(microseconds: time), id: try ActionID(field: String(parts[1])))
    }
}
#endif
