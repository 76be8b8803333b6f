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
                    ["Runner", "State", .time("Lease ends")],
                    runners.map { runner in
                        let cells: HTML = """
                            <th scope="row">\(runner.name)</th><td>\(runner.state)</td>\
                            <td>\(runner.leaseEnd.map { Widgets.time($0, visit.now) })</td>
                            """
                        return Widgets.Row(key: runner.name, cells: cells)
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
        let result = try await site.healthCheck.latest(facts)
        page.add(page.live("findings", Self.findings(result, visit)))
        return page
    }

    private static func findings(_ result: HealthCheck.Result?, _ visit: Visit) -> HTML {
        guard let result else {
            return "<p class=\"empty\">The store is being checked: without the script, reload this page.</p>"
        }
        let items = result.findings.map { finding -> HTML in
            """
            <li class="\(finding.isProblem ? "bad" : "calm")">\
            <strong>\(finding.isProblem ? "Problem" : "Note"): \
            \(finding.text)</strong><p>\(finding.advice)</p></li>
            """
        }
        let healthy: HTML = "<p class=\"empty\">Healthy: nothing to do.</p>"
        return """
            \(result.error.map { "<p class=\"notice bad\">It cannot be checked: \($0)</p>" as HTML })\
            \(items.isEmpty && result.error == nil ? healthy : "<ul class=\"findings\">\(items)</ul>")\
            <p class="empty">Checked \(Widgets.time(result.time, visit.now)).</p>
            """
    }

    /// What operators have done on this page.
    func auditLog(_ visit: Visit) async throws -> Page {
        var page = Page("Audit", in: "Audit")
        page.add(page.live("jobs", jobs(visit)))
        let entries = try await site.audit.entries
        page.add(
            page.live(
                "audit",
                Widgets.table(
                    "Audit log",
                    ["When", "Who", "What", "Result"],
                    entries.map { entry in
                        let time = Widgets.exact(entry.time)
                        let cells: HTML = """
                            <td>\(time) (\(Widgets.time(entry.time, visit.now)))</td>\
                            <td>\(entry.person)</td><td>\(entry.act)</td><td>\(entry.result)</td>
                            """
                        return Widgets.Row(key: "\(time) \(entry.person) \(entry.act)", cells: cells)
                    },
                    isCut: entries.count == AuditLog.limit,
                    empty: "Nobody has done anything on this page."
                )
            )
        )
        page.add("<p class=\"empty\">The last \(AuditLog.limit); the view sluice_audit has more.</p>")
        return page
    }

    /// The acts on many, since this page was started.
    private func jobs(_ visit: Visit) -> HTML {
        let rows = site.jobs.all.map { job in
            let cells: HTML = """
                <th scope="row"><a href="\(visit.link("/job", "id", job.id))">Job \(job.id)</a></th>\
                <td>\(job.now.end == nil ? "\(job.now.count) of \(job.total)" : "ended")</td>\
                <td>\(job.sentence)</td><td>\(job.person.name)</td>
                """
            return Widgets.Row(key: "\(job.id)", cells: cells)
        }
        guard !rows.isEmpty else { return "" }
        return "<h2>Jobs</h2>\(Widgets.table("Jobs", ["Job", "Progress", "What", "Who"], rows, empty: ""))"
    }
}
#endif
