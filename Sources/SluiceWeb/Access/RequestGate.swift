#if Web
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import Sluice

/// Lets requests in, or refuses them: host, origin, who sends it, and its form's token.
struct RequestGate: Sendable {
    let page: OperatorPage

    /// The most bytes of a form: a payload, three times as long with its escapes.
    static let bodyLimit = 8 * 1_024 * 1_024

    /// The longest time that a form takes to arrive.
    static let bodyTime: Duration = .seconds(15)

    var options: OperatorPageOptions { page.options }

    // MARK: - Pages and acts

    func show(
        _ request: Request,
        _ path: String,
        _ make: @escaping @Sendable (OperatorPage, Visit) async throws -> Page
    ) async -> Response {
        await answer(request, path) { visit in
            let made = try await make(page, visit)
            return html(made, visit)
        }
    }

    /// The answer where no page is.
    func missing(_ request: Request) async -> Response {
        await answer(request, "/") { _ in throw PageError(.notFound, "there is no page \(request.uri.path)") }
    }

    /// The question before an act, with the fields of a form.
    func ask(_ request: Request) async -> Response {
        await answer(request, "/confirm", isForm: true) { visit in
            html(try await ConfirmationPage(site: page).confirmation(visit), visit)
        }
    }

    func act(
        _ request: Request,
        _ path: String,
        _ act: @escaping @Sendable (OperatorPage, Visit) async throws -> String
    ) async -> Response {
        await answer(request, path, isForm: true) { visit in
            try checkToken(visit)
            return redirect(to: try await act(page, visit))
        }
    }

    func live(_ request: Request) async -> Response {
        await answer(request, "/live") { visit in
            let view = visit.query["view"] ?? "/"
            let parts = view.split(separator: "?", maxSplits: 1)
            guard let path = parts.first, let route = OperatorPage.pages.first(where: { $0.path == path })
            else {
                throw PageError(.notFound, "there is no page \(view)")
            }
            let query = Form(parts.count > 1 ? parts[1] : "")
            let updates = LiveUpdates(
                page: page,
                seat: page.liveSeats.take(visit.holder ?? ""),
                route: route,
                visit: visit,
                path: String(path),
                query: query,
                mayLook: { try await person(request) != nil }
            )
            return updates.response
        }
    }

    // MARK: - Logging in

    func loginPage(_ request: Request) async -> Response {
        guard isFromHere(request) else { return refusal(request) }
        if isFromElsewhere(request) { return sameSiteReload(request) }
        guard case .tokens = options.access else { return redirect(to: "\(options.prefix)/") }
        return loginForm(next: Form(request.uri.query ?? "")["next"])
    }

    func logIn(_ request: Request) async -> Response {
        guard isFromHere(request) else { return refusal(request) }
        guard case .tokens(let file) = options.access else { return redirect(to: "\(options.prefix)/") }
        do {
            let form = try await form(of: request, limit: 4_096)
            guard let person = file.person(with: form["key"] ?? "") else {
                guard try await page.logIns.failed() else {
                    let text = "Too many unknown tokens have been tried: try again in some seconds."
                    var response = loginForm(error: text, next: form["next"])
                    response.status = .tooManyRequests
                    response.headers[.retryAfter] = "5"
                    return response
                }
                return loginForm(error: "This token is unknown.", next: form["next"])
            }
            // A cookie that was known before does not lead to it.
            let new = page.sessions.logIn(person, replacing: cookie(request.head))
            // Another site's address is no place here.
            var response = redirect(to: place(of: form["next"]))
            response.headers[.setCookie] = setCookie(new.id, request)
            return response
        } catch {
            return loginForm(error: "\(error)", next: nil)
        }
    }

    /// Only this page's own paths: anything else could lead to another site.
    private func place(of next: String?) -> String {
        let home = "\(options.prefix)/"
        guard let next, next.hasPrefix(home) else { return home }
        let parts = next.dropFirst(options.prefix.count).split(separator: "?", maxSplits: 1)
        guard let path = parts.first, OperatorPage.pages.contains(where: { $0.path == path }) else {
            return home
        }
        let query = Form(parts.count > 1 ? parts[1] : "").encoded
        return options.prefix + path + (query.isEmpty ? "" : "?\(query)")
    }

    func logOut(_ request: Request) async -> Response {
        await answer(request, "/logout", isForm: true) { visit in
            try checkToken(visit)
            page.sessions.end(visit.session.id)
            return redirect(to: visit.link("/login"))
        }
    }

    /// The form has no token, and makes no session: strangers could end those of others.
    ///
    /// A form of another site is refused by its origin.
    private func loginForm(error: String? = nil, next: String?) -> Response {
        let visit = Visit(path: "/login", query: Form(), prefix: options.prefix, now: Date())
        var login = Page("Log in", isBare: true)
        if let error { login.add("<p class=\"notice bad\" role=\"alert\">\(error)</p>") }
        login.add(
            """
            <form class="fields" method="post" action="\(visit.link("/login"))">
            <input type="hidden" name="next" value="\(exact: next ?? "")">
            <label>Token \
            <input name="key" type="password" autocomplete="current-password" required autofocus>\
            </label>
            <p><button>Log in</button></p></form>
            """
        )
        return html(login, visit, status: error == nil ? .ok : .forbidden)
    }

    // MARK: - Letting in

    private func answer(
        _ request: Request,
        _ path: String,
        isForm: Bool = false,
        _ body: (Visit) async throws -> Response
    ) async -> Response {
        guard isFromHere(request) else { return refusal(request) }
        if isFromElsewhere(request) { return sameSiteReload(request) }
        var visit = Visit(
            path: path,
            query: Form(request.uri.query ?? ""),
            prefix: options.prefix,
            now: Date()
        )
        var newCookie: String?
        var response: Response
        do {
            // Strangers get no session: theirs would end those of operators.
            guard let person = try await person(request) else {
                if case .tokens = options.access {
                    let isPage = [.get, .head].contains(request.method) && path != "/live"
                    let next = isPage ? visit.link(path, visit.query) : nil
                    return redirect(to: visit.link("/login", Form().setting("next", next)))
                }
                throw PageError(.notAuthenticated, "log in to the application first")
            }
            let (session, isNew) = page.sessions.session(cookie(request.head))
            visit.holder = holder(session, isNew: isNew, person)
            if let holder = visit.holder { Caller.current?.know(holder) }
            if isNew { newCookie = setCookie(session.id, request) }
            (visit.session, visit.person) = (session, person)
            if options.isReadOnly { visit.person = Operator(name: person.name, role: .look) }
            if isForm { visit.form = try await form(of: request) }
            response = try await body(visit)
        } catch {
            response = failure(error, visit)
        }
        if let newCookie { response.headers[.setCookie] = newCookie }
        return response
    }

    /// Whose share of the connections a request's is: a person's, or that of a browser that has come back.
    private func holder(_ session: Sessions.Session, isNew: Bool, _ person: Operator) -> String? {
        if case .everybody = options.access { return isNew ? nil : session.id }
        return isNew ? person.name : session.id
    }

    private func person(_ request: Request) async throws -> Operator? {
        switch options.access {
        case .everybody: Operator(name: "local", role: .act)
        case .tokens: cookie(request.head).flatMap { page.sessions.person(of: $0) }
        case .application(let authenticator): try await authenticator.authenticate(request.head)
        }
    }

    /// Has the browser come once more, from here and with its cookie: a new one would end its session.
    private func sameSiteReload(_ request: Request) -> Response {
        // An address such as //elsewhere is another site's.
        let address = place(of: request.uri.string)
        let place: HTML = "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=\(address)\">"
        return Response(
            status: .ok,
            headers: Self.headers(type: "text/html; charset=utf-8"),
            body: ResponseBody(byteBuffer: ByteBuffer(string: place.text))
        )
    }

    private func checkToken(_ visit: Visit) throws(PageError) {
        guard visit.form["token"] == visit.session.formToken else {
            throw PageError(
                .refused,
                "the form is too old, or is not this page's: go back, reload, and try again"
            )
        }
    }

    private func form(of request: Request, limit: Int = Self.bodyLimit) async throws -> Form {
        let clock = options.clock
        // A browser that drips its form would keep a connection.
        return try await withThrowingTaskGroup(of: Form.self) { group in
            group.addTask {
                var request = request
                do {
                    return Form(String(buffer: try await request.collectBody(upTo: limit)))
                } catch is NIOTooManyBytesError {
                    throw PageError(.invalid, "the form has more than \(limit) bytes")
                } catch {
                    // Whoever sends it has gone, or breaks the rules of HTTP: nothing here has failed.
                    if Task.isCancelled { throw error }
                    throw PageError(.invalid, "the form ended before it was complete")
                }
            }
            group.addTask {
                try await clock.sleep(for: Self.bodyTime)
                throw PageError(.invalid, "the form did not arrive in \(Self.bodyTime)")
            }
            defer { group.cancelAll() }
            guard let form = try await group.next() else { return Form() }
            return form
        }
    }

    // MARK: - Answers

    private func html(_ made: Page, _ visit: Visit, status: HTTPResponse.Status = .ok) -> Response {
        let notice = page.sessions.takeNotice(visit.session.id)
        let error = made.isBare ? nil : page.error
        let text = Layout(options: options).html(made, visit, notice: notice, error: error).text
        return Response(
            status: status,
            headers: Self.headers(type: "text/html; charset=utf-8"),
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// No script but ours, no frame, and nothing kept in caches.
    static func headers(type: String) -> HTTPFields {
        var headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
            + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        headers[.xContentTypeOptions] = "nosniff"
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "same-origin" }
        return headers
    }

    private func redirect(to place: String) -> Response {
        Response(status: .seeOther, headers: [.location: place])
    }

    private func failure(_ error: any Error, _ visit: Visit) -> Response {
        let (status, text): (HTTPResponse.Status, String)
        switch error {
        case let error as PageError:
            text = error.message
            status =
                switch error.code {
                case .invalid: .badRequest
                case .notAuthenticated: .unauthorized
                case .refused: .forbidden
                case .notFound: .notFound
                case .conflict: .conflict
                }
        case let error as SluiceError: (status, text) = (Self.status(of: error), error.message)
        default:
            options.logger.error("The operator's page has failed", metadata: ["error": "\(error)"])
            (status, text) = (.internalServerError, "Something failed, which has been logged.")
        }
        var made = Page("Not done")
        made.add("<p class=\"notice bad\" role=\"alert\">\(text)</p>")
        made.add("<p><a class=\"button\" href=\"\(visit.link("/"))\">Overview</a></p>")
        var response = html(made, visit, status: status)
        if status == .serviceUnavailable { response.headers[.retryAfter] = "2" }
        return response
    }

    /// Whether the request is at fault, or the store cannot be used now.
    private static func status(of error: SluiceError) -> HTTPResponse.Status {
        switch error.code {
        case .databaseLocked, .diskFull, .connectionLost, .suspended, .closed, .fileReplaced:
            .serviceUnavailable
        case .inputOutput, .corrupt, .outOfMemory, .unknownCommit, .storage: .internalServerError
        default: .badRequest
        }
    }
}
#endif
