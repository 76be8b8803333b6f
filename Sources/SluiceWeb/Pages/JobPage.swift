#if Web
internal import Foundation
internal import Sluice

/// The progress of an act on many.
struct JobPage {
    let site: OperatorPage

    /// How far a job is.
    func job(_ visit: Visit) throws -> Page {
        guard let id = visit.query["id"].flatMap({ Int($0) }), let job = site.jobs[id] else {
            throw PageError(.notFound, "there is no such job since this page was started")
        }
        let progress = job.now
        var page = Page("Job \(job.id)")
        let errors = progress.errors.map { "<li>\($0)</li>" as HTML }
        page.add("<p><strong>\(job.sentence)</strong></p>")
        let stop: HTML = """
            <form method="post" action="\(visit.link("/stop"))">\(Layout.token(visit))\
            <input type="hidden" name="id" value="\(job.id)"><button>Stop</button> \
            <a class="button" href="\(visit.link("/job", "id", job.id))">Reload</a></form>
            """
        let back: HTML = "<p><a class=\"button\" href=\"\(visit.link(job.place))\">Back to the list</a></p>"
        let isEnded = progress.end != nil
        page.add(
            page.live(
                "progress",
                """
                <progress value="\(progress.count)" max="\(max(job.total, 1))" aria-label="Progress">\
                </progress>
                <p role="status">\(progress.count) of \(job.total)\(isEnded ? ", ended" : ""): \
                \(job.summary(of: progress))</p>\(isEnded ? back : visit.mayAct ? stop : "")\
                \(errors.isEmpty ? "" : "<ul>\(errors)</ul>")
                """
            )
        )
        return page
    }

    /// Stops a job after its current batch.
    func stopJob(_ visit: Visit) async throws -> String {
        try visit.checkRole()
        guard let id = visit.form["id"].flatMap({ Int($0) }), let job = site.jobs[id] else {
            throw PageError(.notFound, "there is no such job since this page was started")
        }
        job.stop()
        await site.audit.note("Stop job \(job.name): \(job.sentence)", by: visit.person, "asked")
        return visit.link("/job", "id", id)
    }
}
#endif
