#if Web
internal import Foundation

/// What all pages have in common.
struct Layout {
    let options: OperatorPageOptions

    private static let sections = [
        ("Overview", "/"), ("Queues", "/queues"), ("Dead letters", "/dead"), ("Gates", "/gates"),
        ("Holds", "/holds"), ("Runners", "/runners"), ("Health", "/health"), ("Audit", "/audit"),
    ]

    /// - Parameter error: Why the queues may not be up to date.
    func html(_ page: Page, _ visit: Visit, notice: String?, error: String? = nil) -> HTML {
        let live = visit.link(
            "/live",
            "view",
            visit.link(visit.path, visit.query).dropFirst(visit.prefix.count)
        )
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(page.title) · \(options.title)</title>
            <link rel="icon" \
            href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Cpath \
            d='M0 1h8v1H0zM1 3h6v1H1zM2 5h4v1H2z' fill='%230550ae'/%3E%3C/svg%3E">
            <link rel="stylesheet" href="\(visit.link("/page.css"))">
            <script src="\(visit.link("/page.js"))" defer></script></head>
            <body data-now="\(Widgets.exact(visit.now))"\
            \(page.parts.isEmpty ? "" : " data-live=\"\(live)\"" as HTML)>
            <a class="skip" href="#main">Skip to content</a>
            <header><p class="title"><a href="\(visit.link("/"))">\(options.title)</a></p>
            \(page.isBare ? "" : navigation(page, visit))</header>
            <main id="main">
            \(notice.map { "<p class=\"notice\" role=\"status\">\($0)</p>" as HTML })\
            <div id="\(Self.errorPart)" role="alert" data-part>\(Self.error(error))</div>
            <p class="notice" id="stale" role="status" hidden></p>
            <h1>\(page.title)</h1>
            \(page.body)</main></body></html>

            """
    }

    /// The part that says why the queues may not be up to date.
    static let errorPart = "error"

    static func error(_ error: String?) -> HTML {
        error.map { "<p class=\"notice bad\">Not up to date: \($0)</p>" as HTML } ?? ""
    }

    private func navigation(_ page: Page, _ visit: Visit) -> HTML {
        "<nav aria-label=\"Pages\"><ul>\(sections(page, visit))</ul></nav>\(person(visit))"
    }

    private func sections(_ page: Page, _ visit: Visit) -> [HTML] {
        Self.sections.map { name, path in
            let current: HTML = name == page.section ? " aria-current=\"page\"" : ""
            return "<li><a href=\"\(visit.link(path))\"\(current)>\(name)</a></li>"
        }
    }

    private func person(_ visit: Visit) -> HTML {
        let role = visit.mayAct ? "" : options.isReadOnly ? " (read-only)" : " (may look)"
        guard case .tokens = options.access else {
            return "<p class=\"person\">\(visit.person.name)\(role)</p>"
        }
        return """
            <form class="person" method="post" action="\(visit.link("/logout"))">\(Layout.token(visit))\
            \(visit.person.name)\(role) <button>Log out</button></form>
            """
    }

    /// The hidden field that each form which changes something has.
    static func token(_ visit: Visit) -> HTML {
        "<input type=\"hidden\" name=\"token\" value=\"\(visit.session.formToken)\">"
    }
}
#endif
