#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Checks the health of a file.
struct Doctor: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "Check the file or server and the processes that use it, and say what to do.",
        discussion: """
            Creates and migrates nothing. Problems, marked with !, make the exit status 1; notes, marked \
            with -, do not. With --json: file, version, sqlite, schema (the steps), pragmas, bytes, \
            wal_bytes, integrity (what is damaged), write_lock (held, pids), readers (pids), runners (pid, \
            is_dead, running), actions, dead, holds, states (queues by state), findings (is_problem, \
            finding, advice), is_healthy.

            With --postgres it checks the server's settings, old snapshots, tables with many deleted rows, \
            the leases of workers, whether notifications arrive (LISTEN does not work through most poolers), \
            and both clocks. A role without pg_read_all_stats does not see what other roles do. With --json: \
            server, version, postgresql, schema (how many steps), settings, rings, runners (process, \
            running, lease_left_s), actions, dead, holds, states, findings, is_healthy.

            Example:
              sluice doctor --file q.sqlite --full
              sluice doctor --postgres 'postgres://ops@db.example/app'

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Flag(help: "Compare indexes and the order with the tables: reads the whole file several times.")
    var full = false

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard full && store.isServer else { return }
        throw ValidationError("--full is for files: check a server with pg_amcheck")
    }

    func run() async throws {
        guard let path = store.file else { return try await checkServer() }
        try StoreOption.check(path)
        let facts = try facts(of: path)
        let holders = LockHolders(facts)
        let findings = DoctorFinding.all(facts, holders, path: path)
        if output.json {
            Terminal.answer(json(facts, holders, findings, path))
        } else {
            Terminal.answer(lines(facts, holders, findings, path))
        }
        if findings.contains(where: \.isProblem) { throw Failure(.leftover) }
    }

    /// Reads the facts about the file, or reports the process that locks it.
    private func facts(of path: String) throws -> FileFacts {
        let looked = Result { () throws(SluiceError) in try FileFacts(of: path, isFull: full) }
        guard case .failure(let error) = looked, error.code == .databaseLocked else {
            return try looked.get()
        }
        let owners = LockTable.owners(path: path)
        guard !owners.isEmpty else { throw error }
        let names = Self.names(owners.map { LockHolder(pid: $0, name: LockTable.programName(of: $0)) })
        throw Failure(
            .locked,
            "\(error.description); \(names) uses the file alone, as by PRAGMA locking_mode = EXCLUSIVE; "
                + "end it, or let it share the file"
        )
    }

    private func lines(
        _ facts: FileFacts,
        _ holders: LockHolders,
        _ findings: [DoctorFinding],
        _ path: String
    ) -> [String] {
        let paint = output.paint
        let known = facts.steps.count + facts.missingStepCount
        let lines = Facts.lines(
            [
                ("file", "\(path), \(Self.size(facts.byteCount)), WAL \(Self.size(facts.walByteCount))"),
                ("sluice", "\(SluiceCommand.version), schema \(facts.steps.count) of \(known)"),
                ("SQLite", FileFacts.libraryVersion),
                ("pragmas", facts.pragmas.map { "\($0.name)=\($0.value)" }.joined(separator: " ")),
                (
                    "integrity",
                    facts.damages.isEmpty ? "ok, \(full ? "fully" : "quickly") checked" : "damaged"
                ),
                ("write lock", facts.isWriteLockHeld ? "held by \(Self.names(holders.writers))" : "free"),
                ("run by", Self.text(facts.runners)),
                (
                    "actions",
                    "\(facts.actionCount), dead letters \(facts.deadLetterCount), holds \(facts.holdCount)"
                ),
                ("queues", facts.states.map { "\($0.count) \($0.state)" }.joined(separator: ", ")),
            ],
            paint
        )
        return lines + [""] + Self.lines(findings, paint)
    }

    /// The findings, and their sum.
    static func lines(_ findings: [DoctorFinding], _ paint: Paint) -> [String] {
        let remarks = findings.flatMap { finding in
            let text = DisplayWidth.paragraph(Visible.text(finding.text), indent: 2)
            let words = Terminal.hasScreen ? Hints.complete(finding.advice) : finding.advice
            let advice = DisplayWidth.paragraph(Visible.text(words), indent: 4)
            let mark = paint("\(finding.isProblem ? "!" : "-") ", finding.isProblem ? .red : .yellow)
            return [mark + text[0]] + text.dropFirst() + ["  → " + advice[0]] + advice.dropFirst()
        }
        let isHealthy = !findings.contains(where: \.isProblem)
        return remarks + [paint(verdict(findings), isHealthy ? .green : .red)]
    }

    /// Lists the processes that run the queues.
    static func text(_ runners: [RunningProcess]) -> String {
        guard !runners.isEmpty else { return "none" }
        return runners.map { runner in
            if let keeper = runner.keeper {
                return "process \(runner.pid) (has died; process \(keeper) ends its commands)"
            }
            guard !runner.isDead else { return "process \(runner.pid) (has died)" }
            return "process \(runner.pid) (\(runner.runningCount) running)"
        }
        .joined(separator: ", ")
    }

    /// Sums up the findings, with the marks that they have above.
    static func verdict(_ findings: [DoctorFinding]) -> String {
        func count(_ count: Int, _ noun: String, _ mark: String) -> String? {
            count == 0 ? nil : "\(count) \(noun)\(count == 1 ? "" : "s") (\(mark))"
        }
        let problems = findings.count(where: \.isProblem)
        let parts = [count(problems, "problem", "!"), count(findings.count - problems, "note", "-")]
        return ((problems == 0 ? ["healthy"] : []) + parts.compactMap { $0 }).joined(separator: ", ")
    }

    private func json(
        _ facts: FileFacts,
        _ holders: LockHolders,
        _ findings: [DoctorFinding],
        _ path: String
    ) -> String {
        let runners = facts.runners.map {
            JSONText.object([
                ("pid", String($0.pid)), ("is_dead", String($0.isDead)),
                ("running", String($0.runningCount)),
            ])
        }
        return JSONText.object([
            ("file", JSONText.string(path)),
            ("version", JSONText.string(SluiceCommand.version)),
            ("sqlite", JSONText.string(FileFacts.libraryVersion)),
            ("schema", JSONText.array(facts.steps.map { JSONText.string($0) })),
            ("pragmas", JSONText.object(facts.pragmas.map { ($0.name, JSONText.string($0.value)) })),
            ("bytes", String(facts.byteCount)),
            ("wal_bytes", String(facts.walByteCount)),
            ("integrity", JSONText.array(facts.damages.map { JSONText.string($0) })),
            (
                "write_lock",
                JSONText.object([
                    ("held", String(facts.isWriteLockHeld)),
                    ("pids", JSONText.array(holders.writers.map { String($0.pid) })),
                ])
            ),
            ("readers", JSONText.array(holders.readers.map { String($0.pid) })),
            ("runners", JSONText.array(runners)),
            ("actions", String(facts.actionCount)),
            ("dead", String(facts.deadLetterCount)),
            ("holds", String(facts.holdCount)),
            ("states", JSONText.object(facts.states.map { ($0.state, String($0.count)) })),
            ("findings", JSONText.array(findings.map(\.json))),
            ("is_healthy", String(!findings.contains(where: \.isProblem))),
        ])
    }

    static func names(_ holders: [LockHolder]) -> String {
        let names = holders.map { "process \($0.pid)\($0.name.map { " (\($0))" } ?? "")" }
        return names.isEmpty ? "another process" : names.joined(separator: ", ")
    }

    static func size(_ count: Int64) -> String {
        switch count {
        case ..<1_024: return "\(count) B"
        case ..<(1_024 * 1_024): return "\(count / 1_024) KiB"
        default:
            let tenths = count * 10 / (1_024 * 1_024)
            return "\(tenths / 10).\(tenths % 10) MiB"
        }
    }
}
#endif
