#if CommandLineTool
internal import ArgumentParser
internal import Foundation
internal import Sluice

/// Shows everything about one queue, or one action.
struct Show: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract:
            "Show one queue: why it does not move, its head with all errors, the next actions; or an action.",
        discussion: """
            With --json: the fields of `sluice queues`, and holds (those of the queue, as in `sluice \
            holds`), head_action (as in `sluice actions`, or null), history (the head's failed attempts: \
            number, outcome, error, started_at, ended_at) and next (actions).

            With --id: what one action does or waits for, or how it ended, and its failed attempts. With \
            --json: id, state (waiting, scheduled, running, retrying, parked, dead, succeeded, removed or \
            unknown), at (when that began, or ends by itself), ahead (the actions before it), because, \
            queue, kind, tag, sort_type, sort_key, key, gate, starts_groups, member_of, expires_at, \
            version, attempts, last_error, enqueued_at, payload, history.

            Example:
              sluice show --file q.sqlite conversation/42
              sluice show --file q.sqlite --id 17

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Argument(help: ArgumentHelp("The queue.", valueName: "queue"), completion: .queueNames)
    var name: String?

    @Option(
        help: ArgumentHelp("One action instead of a queue.", valueName: "number"),
        transform: ActionID.argument
    )
    var id: ActionID?

    @Option(help: ArgumentHelp("How many of the next actions are shown.", valueName: "number"))
    var next = 5

    @OptionGroup var output: OutputOption

    /// The facts about a queue.
    private struct Findings {
        var status: QueueStatus
        var holds: [Sluice.Hold] = []
        var head: ActionSummary?
        var history: [FailedAttempt] = []
        var next: [ActionSummary] = []
    }

    func validate() throws {
        guard (0...1_000).contains(next) else { throw ValidationError("--next is \(next); give 0 to 1,000") }
        guard (name == nil) != (id == nil) else {
            throw ValidationError("give a queue, or an action by --id")
        }
    }

    func run() async throws {
        if let id { try await show(id) } else { try await show(queue: name ?? "") }
    }

    private func show(_ id: ActionID) async throws {
        let (state, more, history) = try await store.withReader { broker in
            (
                try await broker.action(id), try await broker.engine.keyAndGroups(of: id),
                try await broker.failedAttempts(of: id)
            )
        }
        if output.json {
            let members = state.members(more) + [("history", JSONText.array(history.map(\.json)))]
            Terminal.answer(JSONText.object(members))
        } else {
            let paint = output.paint
            Terminal.answer(Facts.lines(state.facts(more), paint) + FailedAttempt.lines(history, paint))
        }
        guard state.phase == .ended(.unknown) else { return }
        throw Failure(.leftover, "\(id) is not in the file: it has succeeded or was removed, or never was")
    }

    private func show(queue name: String) async throws {
        let found = try await store.withReader { broker in
            try await broker.lookBesideLocks { try await find(name, broker) }
        }
        guard let findings = found else {
            let isNumber = ActionID.isArgument(name)
            throw Failure(
                .leftover,
                "the queue '\(name)' has no actions" + (isNumber ? "; for the action \(name) use --id" : "")
            )
        }
        if output.json {
            Terminal.answer(Self.json(findings))
        } else {
            Terminal.answer(lines(findings))
        }
    }

    private func find(_ name: String, _ broker: Broker) async throws -> Findings? {
        let queue = try QueueName.argument(name)
        let status = try await broker.status(of: queue)
        guard status.state != .empty else { return nil }
        let pattern = QueuePattern(name)
        var findings = Findings(status: status)
        findings.holds = try await broker.holds().filter { try $0.pattern.form().matches(queue) }
        let actions = try await broker.actionSummaries(pattern, limit: next + 1)
        findings.head = actions.first { $0.id == status.head }
        findings.next = Array(actions.filter { $0.id != status.head }.prefix(next))
        if let head = status.head { findings.history = try await broker.failedAttempts(of: head) }
        return findings
    }

    private func lines(_ findings: Findings) -> [String] {
        let queue = findings.status
        var facts = [("queue", queue.queue.rawValue), ("state", queue.state.rawValue)]
        facts += queue.because.enumerated().map { ($0 == 0 ? "because" : "and because", $1.description) }
        facts += [
            ("depth", String(queue.depth)), ("oldest", Times.span(queue.oldestAge())),
            ("blocked until", queue.blockedUntil.map { Times.text($0) } ?? ""),
            ("last error", queue.untoldError ?? ""),
        ]
        for hold in findings.holds {
            let end = hold.until.map { " until \(Times.text($0))" } ?? ""
            let reason = hold.reason.isEmpty ? "" : ": \(hold.reason)"
            facts.append(("hold \(hold.id)", "\(hold.pattern) by \(hold.holder)\(end)\(reason)"))
        }
        if let head = findings.head {
            let state = head.state(at: Date(), hasParked: head.id == queue.parkingAction)
            facts += [
                ("head", "\(head.id), \(state)"), ("kind", head.kind),
                ("sort key", head.sortKey ?? ""),
                ("attempts", String(head.attempts)), ("enqueued at", Times.text(head.enqueuedAt)),
                ("payload", JSONText.onOneLine(head.payload)),
            ]
        }
        let paint = output.paint
        var lines = Facts.lines(facts, paint) + FailedAttempt.lines(findings.history, paint)
        if !findings.next.isEmpty {
            let parking = Set([queue.parkingAction].compactMap(\.self))
            lines += [""] + ActionSummary.table(findings.next, parking: parking).lines(paint)
        }
        return lines
    }

    private static func json(_ findings: Findings) -> String {
        JSONText.object(
            findings.status.members + [
                ("holds", JSONText.array(findings.holds.map(Holds.json))),
                ("head_action", findings.head?.json ?? "null"),
                ("history", JSONText.array(findings.history.map(\.json))),
                ("next", JSONText.array(findings.next.map(\.json))),
            ]
        )
    }
}
#endif
