#if Web
internal import Foundation
internal import Sluice

/// One queue.
struct QueuePage {
    let site: OperatorPage

    /// The most actions of a queue on its page.
    static let actionsOnPage = 50

    /// How many actions can be paged through: each page reads those before it too.
    private static let actionLimit = 1_000

    /// A queue: why it does not move, its actions in order, and what concerns it.
    func queue(_ visit: Visit) async throws -> Page {
        let queue = try QueueName(field: visit.query["name"])
        let name = queue.rawValue
        let status = try await site.broker.status(of: queue)
        var page = Page(name, in: "Queues")
        page.add(page.live("status", statusFacts(status, visit)))
        let holds = try await site.broker.holds().filter { Self.covers($0.pattern, queue) }
        let hasHold = holds.contains { !$0.pattern.rawValue.hasSuffix("*") }
        if visit.mayAct { page.add(page.live("acts", queueActs(status, hasHold: hasHold, visit))) }
        let first = try Self.place(visit.query["from"])
        let limit = first + Self.actionsOnPage + 1
        let actions = try await site.broker.actionOutlines(QueuePattern(name), limit: limit).dropFirst(first)
        page.add("<h2>Actions, in the order in which they run</h2>")
        page.add(actionList(actions, status, isFirst: first == 0, &page, visit))
        if actions.count > Self.actionsOnPage {
            let end = first + Self.actionsOnPage
            page.add("<p>\(first + 1) to \(end) of \(status.depth).</p>")
            let query = visit.query.setting("from", "\(end)")
            if end < Self.actionLimit { page.add(Widgets.nextPage(visit.link("/queue", query))) }
        }
        page.add(page.live("attempts", try await headAttempts(status, visit)))
        page.add(page.live("holds", Self.holdList(holds, visit)))
        page.add(page.live("gates", try await gateList(status, visit)))
        return page
    }

    private static func place(_ text: String?) throws(PageError) -> Int {
        guard let text else { return 0 }
        guard let place = Int(text), (0..<actionLimit).contains(place) else {
            throw PageError(.invalid, "'\(text)' is no place from 0 to \(actionLimit - 1)")
        }
        return place
    }

    private func statusFacts(_ status: QueueStatus, _ visit: Visit) -> HTML {
        guard status.depth > 0 else {
            let dead = visit.link("/dead", "queue-pattern", status.queue.rawValue)
            return """
                <p class="empty">This queue has no actions: each has succeeded, was removed, or is a \
                <a href="\(dead)">dead letter</a>.</p>
                """
        }
        return Widgets.facts([
            ("State", Widgets.state(status)),
            ("Why", Widgets.because(status.because, status.blockedUntil, visit)),
            ("Head", status.head.map { "\(Widgets.action($0, visit)) \(status.headKind ?? "")" }),
            ("Attempt", "\(status.attempt)"),
            ("Actions", "\(status.depth)"),
            ("Oldest", status.oldestEnqueuedAt.map { Widgets.time($0, visit.now) }),
            ("Last error", status.lastError.map { "<pre>\($0)</pre>" }),
        ])
    }

    private func queueActs(_ status: QueueStatus, hasHold: Bool, _ visit: Visit) -> HTML {
        let queue = Form().setting("queue", status.queue.rawValue)
        let waits = status.because.contains {
            switch $0 {
            case .parked, .retry: true
            default: false
            }
        }
        let head = status.actionToSkip
        let skipping = queue.setting("head", head?.description)
        let editing = "Edit the head's payload"
        let edit = head.map { head -> HTML in
            "<a class=\"button\" href=\"\(visit.link("/edit", "id", head))\">\(editing)</a> "
        }
        // Each has its place, so that none moves under a pointer.
        let acts: [HTML] = [
            Widgets.button(.retryNow, queue, visit, isOffered: waits),
            edit ?? Widgets.disabled(editing),
            Widgets.button(.skipHead, skipping, visit, isOffered: head != nil && status.state != .running),
            Widgets.button(.hold, queue, visit),
            Widgets.button(.endHolds, queue, visit, isOffered: hasHold),
            Widgets.button(.cancelAll, queue, visit, isOffered: status.depth > 0),
        ]
        let enqueue = visit.link("/enqueue", "queue", status.queue.rawValue)
        return "<p class=\"acts\">\(acts)<a class=\"button\" href=\"\(enqueue)\">Enqueue an action</a></p>"
    }

    /// - Parameter isFirst: Whether it is the first page, which is live: actions leave others for it.
    private func actionList(
        _ actions: ArraySlice<ActionOutline>,
        _ status: QueueStatus,
        isFirst: Bool,
        _ page: inout Page,
        _ visit: Visit
    ) -> HTML {
        let first = visit.link("/queue", "name", status.queue.rawValue)
        let end: HTML = "No more actions follow here. <a href=\"\(first)\">Show the first page</a>"
        let table = actionTable(actions, visit, empty: isFirst ? "No actions." : end)
        return Widgets.acts(
            [.move, .cancel],
            Form().setting("queue", status.queue.rawValue),
            matching: page.live("matching", "all \(status.depth) of this queue", as: "span"),
            more: "<label>To queue <input name=\"to\"></label> ",
            isFirst ? page.live("actions", table) : "<p>As it was when you opened it.</p>\(table)",
            visit
        )
    }

    private func actionTable(
        _ actions: ArraySlice<ActionOutline>,
        _ visit: Visit,
        empty: HTML
    ) -> HTML {
        Widgets.table(
            "Actions",
            Widgets.selectAll(visit.mayAct) + [
                .id("Action"), "Kind", .number("Attempts"), .time("Enqueued"), "Due", "Last error",
            ],
            actions.prefix(Self.actionsOnPage).map { action in
                let due: HTML =
                    if let since = action.runningSince {
                        "running since \(Widgets.time(since, visit.now))"
                    } else if let date = action.nextAttemptAt ?? action.notBefore {
                        Widgets.time(date, visit.now)
                    } else {
                        ""
                    }
                let cells: HTML = """
                    \(Widgets.select("action", action.id.description, visit.mayAct))\
                    <th scope="row">\(Widgets.action(action.id, visit))</th><td>\(action.kind)</td>\
                    <td class="number">\(action.attempts)</td>\
                    <td>\(Widgets.time(action.enqueuedAt, visit.now))</td><td>\(due)</td>\
                    <td class="error">\(String((action.lastError ?? "").prefix(200)))</td>
                    """
                return Widgets.Row(key: action.id.description, cells: cells)
            },
            isCut: actions.count > Self.actionsOnPage,
            empty: empty
        )
    }

    static func attemptTable(_ attempts: [FailedAttempt], of action: ActionID, _ visit: Visit) -> HTML {
        Widgets.table(
            "Failed attempts of action \(action)",
            [.id("Attempt"), .time("Began"), .word("Took"), .word("Cause"), "Error"],
            attempts.map { attempt in
                let cells: HTML = """
                    <th scope="row">\(attempt.number)</th>\
                    <td>\(Widgets.time(attempt.startedAt, visit.now))</td>\
                    <td>\(Widgets.span(attempt.endedAt.timeIntervalSince(attempt.startedAt)))</td>\
                    <td>\(attempt.cause?.rawValue ?? "retried")</td><td><pre>\(attempt.error)</pre></td>
                    """
                return Widgets.Row(key: "\(attempt.number) \(attempt.startedAt)", cells: cells)
            },
            empty: "No attempt has failed."
        )
    }

    private func headAttempts(_ status: QueueStatus, _ visit: Visit) async throws -> HTML {
        guard let head = status.head else { return "" }
        let attempts = try await site.broker.failedAttempts(of: head)
        return "<h2>Failed attempts of the head</h2>\(Self.attemptTable(attempts, of: head, visit))"
    }

    /// The holds that cover the queue.
    private static func holdList(_ holds: [Hold], _ visit: Visit) -> HTML {
        guard !holds.isEmpty else { return "" }
        return "<h2>Holds</h2>\(ControlsPage.holdTable(holds, visit, isSelectable: false))"
    }

    /// The gates that the queue waits for.
    private func gateList(_ status: QueueStatus, _ visit: Visit) async throws -> HTML {
        let names = status.because.compactMap { because -> GateName? in
            guard case .gate(let name, _) = because else { return nil }
            return name
        }
        guard !names.isEmpty else { return "" }
        let known = try await site.broker.gates()
        let gates = names.map { name in (name, known.first { $0.name == name }) }
        return "<h2>Gates</h2>\(ControlsPage.gateTable(gates, visit, isSelectable: false))"
    }

    /// Whether a pattern matches a queue: it is its name, `*`, or a prefix that ends in `/*`.
    private static func covers(_ pattern: QueuePattern, _ queue: QueueName) -> Bool {
        let (pattern, name) = (pattern.rawValue, queue.rawValue)
        guard pattern.hasSuffix("*") else { return pattern.utf8.elementsEqual(name.utf8) }
        return name.utf8.starts(with: pattern.utf8.dropLast())
    }
}

extension QueueName {
    /// Whether it is a pattern, for several queues: no name of one has a `*`.
    var isPattern: Bool { rawValue.contains("*") }

    /// Reads the name of one queue from the field of a query or a form.
    init(field text: String?) throws(PageError) {
        guard let text else { throw PageError(.invalid, "give the name of a queue") }
        self.init(text)
        guard !isPattern else {
            throw PageError(.invalid, "'\(text)' is no queue but a pattern: use it as a filter of the list")
        }
    }
}
#endif
