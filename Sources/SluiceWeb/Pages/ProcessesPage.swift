#if Web
internal import Foundation
internal import Sluice

/// The runners, the health of the store, and the audit log.
struct ProcessesPage {
    let site: OperatorPage

    /// The processes that run the queues.
    func runners(_ visit: Visit) -> Page {
        var page = Page("Runners", in: "Runners")
        let runners = site.surroundings.facts.runners ?? []
        page.add(
            page.live(
                "runners",
                Widgets.table(
                    "Runners",
                    ["Runner", "State", "Lease ends"],
                    runners.map { runner in
                        """
                        <tr><th scope="row">\(runner.name)</th><td>\(runner.state)</td>\
                        <td>\(runner.leaseEnd.map { Widgets.time($0, visit.now) })</td></tr>
                        """
                    },
                    empty: site.options.facts == nil
                        ? "Not known here: this page shows the broker of its own process. Try `sluice serve`."
                        : "No process runs the queues. Start your application, or `sluice run`."
                )
            )
        )
        return page
    }

    /// Problems and notes, each with advice.
    func health(_ visit: Visit) async throws -> Page {
        var page = Page("Health", in: "Health")
        guard let facts = site.options.facts else {
            page.add("<p class=\"empty\">Not known here: run `sluice doctor` or `sluice serve`.</p>")
            return page
        }
        page.add(Widgets.facts(try await facts.sizes().map { ($0.name, "\($0.value)") }))
        let findings = try await facts.findings()
        let items = findings.map { finding -> HTML in
            """
            <li class="\(finding.isProblem ? "bad" : "calm")">\
            <strong>\(finding.isProblem ? "Problem" : "Note"): \
            \(finding.text)</strong><p>\(finding.advice)</p></li>
            """
        }
        page.add(
            items.isEmpty
                ? "<p class=\"empty\">Healthy: nothing to do.</p>" : "<ul class=\"findings\">\(items)</ul>"
        )
        return page
    }

    /// What operators have done on this page.
    func auditLog(_ visit: Visit) async throws -> Page {
        var page = Page("Audit", in: "Audit")
        page.add(
            page.live(
                "audit",
                Widgets.table(
                    "Audit log",
                    ["When", "Who", "What", "Result"],
                    try await site.audit.entries.map { entry in
                        """
                        <tr><td>\(Widgets.exact(entry.time)) (\(Widgets.time(entry.time, visit.now)))</td>\
                        <td>\(entry.person)</td>\
                        <td>\(entry.act)</td><td>\(entry.result)</td></tr>
                        """
                    },
                    empty: "Nobody has done anything on this page."
                )
            )
        )
        return page
    }
}
#endif
