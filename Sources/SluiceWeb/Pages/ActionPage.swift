#if Web
internal import Foundation
internal import Sluice

/// One action or dead letter, and the forms for payloads.
struct ActionPage {
    let site: OperatorPage

    /// An action or a dead letter: what it does or waits for, its attempts, and its payload when asked for.
    func action(_ visit: Visit) async throws -> Page {
        let id = try ActionID(field: visit.query["id"])
        let state = try await site.broker.action(id)
        var page = Page("Action \(id)", in: "Queues")
        guard let details = state.details else {
            let phase = state.phase.html(visit.now)
            let text: HTML = "<p class=\"empty\">There is no action \(id.description): \(phase)</p>"
            page.add(page.live("state", text))
            for part in ["acts", "move", "attempts"] { page.add(page.live(part, "")) }
            return page
        }
        page.add(page.live("state", facts(state, details, visit)))
        if visit.mayAct {
            page.add(page.live("acts", acts(state, details, visit)))
            page.add(page.live("move", moving(state, visit)))
        }
        page.add("<h2>Payload</h2>")
        page.add(await payload(id, details, visit))
        page.add("<h2>Failed attempts</h2>")
        let attempts = try await site.broker.failedAttempts(of: id)
        page.add(
            page.live("attempts", QueuePage.attemptTable(attempts, of: id, visit))
        )
        return page
    }

    private func facts(_ state: ActionState, _ details: ActionState.Details, _ visit: Visit) -> HTML {
        let trace = details.trace.sorted { $0.key < $1.key }.map { field -> (String, HTML?) in
            ("Trace: \(field.key)", "<bdi>\(field.value)</bdi>")
        }
        let facts: [(String, HTML?)] = [
            ("State", state.phase.html(visit.now)),
            ("Why", state.because.isEmpty ? nil : Widgets.because(state.because, nil, visit)),
            ("Queue", Widgets.queue(details.queue, visit)),
            ("Before it", state.ahead.map { "\($0)" }),
            ("Kind", "\(details.kind), version \(details.version)"),
            ("Attempts", "\(details.attempts)"),
            ("Enqueued", Widgets.time(details.enqueuedAt, visit.now)),
            ("Expires", details.expiresAt.map { Widgets.time($0, visit.now) }),
            ("Tag", details.tag.map { "<bdi>\($0)</bdi>" }),
            ("Deduplication key", details.key.map { "<bdi>\($0)</bdi>" }),
            ("Starts groups", Self.names(details.startsGroups)),
            ("Member of groups", Self.names(details.memberOf)),
            ("Gate", details.gate.map { "\($0.rawValue)" }),
            ("Last error", details.lastError.map { "<pre>\($0)</pre>" }),
        ]
        return Widgets.facts(facts + trace)
    }

    private static func names(_ groups: [GroupName]) -> HTML? {
        groups.isEmpty ? nil : "<bdi>\(groups.map(\.rawValue).joined(separator: ", "))</bdi>"
    }

    private func acts(_ state: ActionState, _ details: ActionState.Details, _ visit: Visit) -> HTML {
        if case .dead = state.phase {
            let letter = Form().setting("letter", state.id.description)
            return """
                <p class="acts">\(Widgets.button(.requeue, letter, visit))\
                \(Widgets.button(.purge, letter, visit))</p>
                <p class="empty">To change its payload: hold its queue, requeue it, edit it, end the hold.</p>
                """
        }
        let action = Form().setting("action", state.id.description)
            .setting("queue", details.queue.rawValue)
        let queue = Form().setting("queue", details.queue.rawValue)
        let isWaiting =
            switch state.phase {
            case .parked, .retrying: true
            default: false
            }
        return """
            <p class="acts">\
            \(Widgets.button(.retryNow, queue, visit, "Retry its queue now", isOffered: isWaiting))\
            <a class="button" href="\(visit.link("/edit", "id", state.id))">Edit the payload</a> \
            \(Widgets.button(.moveToFront, action, visit))\(Widgets.button(.cancel, action, visit))</p>
            """
    }

    private func moving(_ state: ActionState, _ visit: Visit) -> HTML {
        if case .dead = state.phase { return "" }
        return """
            <form class="acts" method="get" action="\(visit.link("/confirm"))">
            <input type="hidden" name="act" value="\(Act.Kind.move.rawValue)">\
            <input type="hidden" name="action" value="\(state.id.description)">
            <label>Move to queue <input name="to" required></label> <button>Move</button></form>
            """
    }

    /// Payloads can be private: they are read and sent only when somebody asks.
    private func payload(_ id: ActionID, _ details: ActionState.Details, _ visit: Visit) async -> HTML {
        guard visit.query["payload"] == "show" else {
            let query = visit.query.setting("payload", "show")
            return "<p><a class=\"button\" href=\"\(visit.link("/action", query))\">Show the payload</a></p>"
        }
        await site.noteView(of: id, details, visit)
        let tree = JSONTree(details.payload)
        return """
            <div class="payload">\(tree?.html ?? "<p>No tree: it is too large, or is no JSON.</p>")
            <details><summary>As it is stored</summary><pre>\(details.payload)</pre></details></div>
            """
    }

    /// The form that changes a payload.
    ///
    /// - Parameters:
    ///   - draft: A text that was refused, to go on with.
    ///   - error: Why it was refused.
    func editor(_ visit: Visit, draft: Form? = nil, error: PageError? = nil) async throws -> Page {
        try visit.checkRole()
        let id = try ActionID(field: draft?["action"] ?? visit.query["id"])
        guard let details = try await site.broker.action(id).details else {
            throw PageError(.notFound, "there is no action \(id) any more")
        }
        await site.noteView(of: id, details, visit)
        var page = Page("Edit action \(id)", in: "Queues")
        let stored = JSONTree(details.payload)?.lines.joined(separator: "\n") ?? details.payload
        page.add(Self.alert(error))
        page.add(
            Widgets.facts([
                ("Queue", Widgets.queue(details.queue, visit)),
                ("Last error", details.lastError.map { "<pre>\($0)</pre>" }),
            ])
        )
        page.add(
            """
            <form method="post" action="\(visit.link("/confirm"))">
            <input type="hidden" name="act" value="\(Act.Kind.edit.rawValue)">\
            <input type="hidden" name="action" value="\(id.description)">\
            <input type="hidden" \(Form.attributes("queue", details.queue.rawValue))>
            <label for="payload">Payload of kind \(details.kind), as JSON</label>
            \(Self.area(draft?["payload"] ?? stored))
            <p><button>Check and compare</button> \
            <a class="button" href="\(visit.link("/action", "id", id))">Cancel</a></p></form>
            """
        )
        return page
    }

    /// The form for a new action; the parameters are as for an edit.
    func enqueuing(_ visit: Visit, draft: Form? = nil, error: PageError? = nil) throws -> Page {
        try visit.checkRole()
        var page = Page("Enqueue an action", in: "Queues")
        let fields = draft ?? visit.query
        page.add(Self.alert(error))
        page.add(
            """
            <form class="fields" method="post" action="\(visit.link("/confirm"))">
            <input type="hidden" name="act" value="\(EnqueueForm.act)">
            <label>Queue <input \(Form.attributes("queue", fields["queue"] ?? "")) required></label>
            <label>Kind <input \(Form.attributes("kind", fields["kind"] ?? "")) required></label>
            <label for="payload">Payload, as JSON</label>
            \(Self.area(fields["payload"] ?? "{}"))
            <p><button>Check</button></p></form>
            """
        )
        return page
    }

    private static func alert(_ error: PageError?) -> HTML {
        error.map { "<p class=\"notice bad\" role=\"alert\">\($0.message)</p>" } ?? ""
    }

    private static func area(_ text: String) -> HTML {
        """
        <textarea id="payload" name="payload" rows="20" spellcheck="false" autofocus required>
        \(exact: text)</textarea>
        """
    }
}

extension ActionID {
    /// Reads a number from the field of a query or a form.
    init(field text: String?) throws(PageError) {
        guard let text, let number = Int64(text), number > 0 else {
            throw PageError(.invalid, "'\(text ?? "")' is no number of an action")
        }
        self.init(rawValue: number)
    }
}

extension ActionState.Phase {
    /// What the action does, with the times from now.
    func html(_ now: Date) -> HTML {
        switch self {
        case .waiting: "waiting"
        case .scheduled(let date): "scheduled, starts \(Widgets.time(date, now))"
        case .running(let since): "running, started \(Widgets.time(since, now))"
        case .retrying(let date): "waiting for a retry \(Widgets.time(date, now))"
        case .parked(let cause, let since):
            "parked \(Widgets.time(since, now))\(cause.map { " (\($0.rawValue))" } ?? "")"
        case .dead(let cause, let date): "a dead letter, died \(Widgets.time(date, now)) (\(cause.rawValue))"
        case .ended(.succeeded): "it has succeeded"
        case .ended(.removed): "it has been removed"
        case .ended(.deadLettered): "it has become a dead letter, which has been purged"
        case .ended(.unknown): "it has ended, or never existed"
        }
    }
}
#endif
