#if Web
internal import Foundation
internal import Sluice

/// The question before an act.
struct ConfirmationPage {
    let site: OperatorPage

    /// The question before an act: what it will do, and to how many.
    func confirmation(_ visit: Visit) async throws -> Page {
        try visit.checkRole()
        let fields = visit.form.fields.isEmpty ? visit.query : visit.form
        // A text that was typed is not lost.
        if EnqueueForm.isAsked(by: fields) {
            do throws(PageError) {
                return question(try EnqueueForm(fields), try fields.payload(), fields, visit)
            } catch {
                return try ActionPage(site: site).enqueuing(visit, draft: fields, error: error)
            }
        }
        let act = try ActForm(fields)
        if act.kind == .edit {
            do throws(PageError) {
                _ = try fields.payload()
            } catch {
                return try await ActionPage(site: site).editor(visit, draft: fields, error: error)
            }
        }
        return try await question(act, fields, visit)
    }

    private func question(_ new: EnqueueForm, _ payload: String, _ fields: Form, _ visit: Visit) -> Page {
        var page = Page("\(EnqueueForm.name)?")
        page.add("<p><strong>\(new.sentence).</strong> \(EnqueueForm.consequence)</p>")
        page.add("<pre class=\"payload\">\(payload)</pre>")
        let buttons: HTML = "\n<p><button class=\"\">\(EnqueueForm.name)</button>"
        page.add(answer(to: Question(fields, about: []), fields, buttons, new.place, visit))
        return page
    }

    private func question(_ act: ActForm, _ fields: Form, _ visit: Visit) async throws -> Page {
        var page = Page("\(act.button.name)?")
        page.add("<p><strong>\(act.sentence).</strong> \(act.button.consequence)</p>")
        var subjects = try await act.subjects.all(site)
        if act.kind == .skipHead { subjects = try await withHeads(subjects) }
        guard !subjects.isEmpty else {
            let place = visit.link(act.place.path, act.place.query)
            page.add("<p>Nothing matches now. <a class=\"button\" href=\"\(place)\">Back</a></p>")
            return page
        }
        if subjects.count != 1 || fields["scope"] == "matching" { page.add(list(subjects, visit)) }
        if act.kind == .cancelAll, subjects.count > 1 { page.add(try await total(of: subjects)) }
        if subjects.count == 1, case .queue(let queue, let head) = subjects[0] {
            page.add(try await facts(queue, head, act, visit))
        }
        var asked = fields
        if case .matchingQueues(let filter) = act.subjects {
            // Without the selected ones.
            asked = filter.form.setting("act", act.kind.rawValue).setting("scope", "matching")
                .setting(ActForm.listField, fields[ActForm.listField])
        }
        if act.kind == .edit, case .action(let id) = subjects.first {
            guard let details = try await site.broker.action(id).details else {
                throw PageError(.notFound, "there is no action \(id) any more")
            }
            await site.noteView(of: id, details, visit)
            page.add(comparison(details.payload, try fields.payload()))
            asked = asked.setting("was", details.payload.fingerprint)
        }
        if subjects.count == 1, case .hold(let id) = subjects[0] {
            page.add(try await facts(of: id))
        }
        let additions = Question.additions(to: act.kind).map(field)
        let inputs: HTML = "\(additions)\n<p>\(buttons(act))"
        page.add(answer(to: Question(asked, about: subjects), fields, inputs, act.place, visit))
        return page
    }

    /// The form that answers a question.
    private func answer(
        to question: Question,
        _ fields: Form,
        _ inputs: HTML,
        _ place: (path: String, query: Form),
        _ visit: Visit
    ) -> HTML {
        let token = site.sessions.ask(question, visit.session.id)
        let payload = Form().setting("payload", fields["payload"])
        return """
            <form class="fields" method="post" action="\(visit.link("/do"))">\(Layout.token(visit))\
            <input type="hidden" name="question" value="\(token)">\
            \(payload.hiddenFields)\(inputs) \
            <a class="button" href="\(visit.link(place.path, place.query))">Cancel</a></p></form>
            """
    }

    /// The queues with the heads that a skip takes, and no others.
    private func withHeads(_ subjects: [Subject]) async throws -> [Subject] {
        var heads: [QueueName: ActionID] = [:]
        if case .queue(let name, nil) = subjects[0], subjects.count == 1 {
            heads[name] = try await site.broker.status(of: name).actionToSkip
        } else if subjects.contains(where: \.isWithoutHead) {
            for status in try await site.broker.statuses(matching: .all, in: nil, limit: .max) {
                heads[status.queue] = status.actionToSkip
            }
        }
        return subjects.map { subject in
            guard case .queue(let name, nil) = subject else { return subject }
            return .queue(name, head: heads[name])
        }
    }

    /// A parked queue makes no next attempt by itself, so that to retry it comes first.
    private func buttons(_ act: ActForm) -> HTML {
        guard act.kind == .edit else {
            return "<button class=\"\(act.button.isFinal ? "final" : "")\">\(act.button.name)</button>"
        }
        return """
            <button name="then" value="retry">Store it, and retry its queue now</button> \
            <button>Store it only</button>
            """
    }

    /// Names all of a few subjects, and the first of many.
    private func list(_ subjects: [Subject], _ visit: Visit) -> HTML {
        let names = subjects.prefix(20).map { "<li>\($0.html(visit))</li>" as HTML }
        let more = subjects.count - names.count
        let rest: HTML = more > 0 ? "<li>and \(more) more</li>" : ""
        return "<p id=\"subject-count\">\(subjects.count) in all:</p><ul>\(names)\(rest)</ul>"
    }

    /// How many actions all queues have together.
    private func total(of queues: [Subject]) async throws -> HTML {
        var names: Set<QueueName> = []
        for case .queue(let name, _) in queues { names.insert(name) }
        let all = try await site.broker.statuses(matching: .all, in: nil, limit: .max)
        let count = all.filter { names.contains($0.queue) }.reduce(0) { $0 + $1.depth }
        return "<p>\(Widgets.count(count, "action")) now.</p>"
    }

    private func facts(of id: HoldID) async throws -> HTML {
        guard let hold = try await site.broker.holds().first(where: { $0.id == id }) else { return "" }
        return Widgets.facts([
            ("Queues", "<bdi>\(hold.pattern.rawValue)</bdi>"), ("By", "\(hold.holder)"),
            ("Reason", "\(hold.reason)"),
        ])
    }

    /// What the operator should know of a queue before an act on it.
    private func facts(
        _ queue: QueueName,
        _ head: ActionID?,
        _ act: ActForm,
        _ visit: Visit
    ) async throws -> HTML {
        if queue.isPattern {
            let pattern = QueuePattern(queue.rawValue)
            let count = try await site.broker.statuses(matching: pattern, in: nil, limit: .max).count
            return "<p>Queues with work that match it now: \(count). Later ones are covered too.</p>"
        }
        let status = try await site.broker.status(of: queue)
        guard status.depth > 0 else {
            let part = queue.rawValue.hasSuffix("/") ? queue.rawValue : "\(queue.rawValue)/"
            return """
                <p><strong>There is no queue with work of exactly this name.</strong> For all queues whose \
                names begin with it, use \(part)*</p>
                """
        }
        let skipped = act.kind == .skipHead ? head ?? status.actionToSkip : nil
        return Widgets.facts([
            ("Actions", "\(status.depth)"), ("To be skipped", skipped.map { Widgets.action($0, visit) }),
            ("Why", Widgets.because(status.because, status.blockedUntil, visit)),
            ("Last error", status.lastError.map { "<pre>\($0)</pre>" }),
        ])
    }

    private func field(_ addition: Question.Addition) -> HTML {
        switch addition {
        case .reason:
            "<label>Reason, which others see <input name=\"reason\" maxlength=\"500\" autofocus></label> "
        case .minutes:
            """
            <label>For how many minutes (empty: until somebody ends it) \
            <input name="minutes" type="number" min="1" max="525600"></label>
            """
        }
    }

    /// The lines of two payloads; lines that differ are marked.
    private func comparison(_ old: String, _ new: String) -> HTML {
        let before = JSONTree(old)?.lines ?? [old]
        let after = JSONTree(new)?.lines ?? [new]
        // By bytes: two lines that only look the same are two.
        let difference = after.difference(from: before) { $0.utf8.elementsEqual($1.utf8) }
        let removed = Set(difference.removals.map(Self.offset))
        let added = Set(difference.insertions.map(Self.offset))
        if difference.isEmpty { return "<p>The payload is the same as before.</p>" }
        let first = before.enumerated().map {
            line($0.element, removed.contains($0.offset) ? "−" : " ", "removed")
        }
        let second = after.enumerated().map {
            line($0.element, added.contains($0.offset) ? "+" : " ", "added")
        }
        return """
            <div class="diff"><section><h2>Now</h2><pre>\(first)</pre></section>
            <section><h2>New</h2><pre>\(second)</pre></section></div>
            """
    }

    private static func offset(_ change: CollectionDifference<String>.Change) -> Int {
        switch change {
        case .insert(let offset, _, _), .remove(let offset, _, _): offset
        }
    }

    private func line(_ text: String, _ mark: String, _ name: String) -> HTML {
        mark == " " ? "  \(text)\n" : "<span class=\"\(name)\">\(mark) \(text)</span>\n"
    }
}
#endif
