#if CommandLineTool
internal import Sluice

/// A problem or note for the operator, with what to do about it.
struct DoctorFinding {
    let isProblem: Bool
    let text: String
    let advice: String

    var json: String {
        JSONText.object([
            ("is_problem", String(isProblem)), ("finding", JSONText.string(text)),
            ("advice", JSONText.string(advice)),
        ])
    }

    static func problem(_ text: String, _ advice: String) -> DoctorFinding {
        DoctorFinding(isProblem: true, text: text, advice: advice)
    }

    static func note(_ text: String, _ advice: String) -> DoctorFinding {
        DoctorFinding(isProblem: false, text: text, advice: advice)
    }

    /// A broker truncates the WAL to this size; a larger one may be due to a reader.
    private static let shortenWAL: Int64 = 64 * 1_024 * 1_024

    /// The limit if several processes run the queues, as each leaves the WAL to the others for a while.
    private static let shortenSharedWAL: Int64 = 160 * 1_024 * 1_024

    /// A larger WAL is pinned by a connection: a broker copies it back every 40 MB.
    private static let longWAL: Int64 = 256 * 1_024 * 1_024

    /// Returns all findings about a file, the worst first.
    static func all(_ facts: FileFacts, _ holders: LockHolders, path: String) -> [DoctorFinding] {
        let findings =
            ofFile(facts, path: path) + ofPlace(facts) + ofLocks(facts, holders, path: path) + ofQueues(facts)
            + ofRunners(facts) + ofLibrary()
        return findings.filter(\.isProblem) + findings.filter { !$0.isProblem }
    }

    /// Reports missing parts of the schema, and parts that are not the library's.
    private static func ofParts(_ facts: FileFacts) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        let missing = facts.strangers.filter { $0.hasSuffix(" (missing)") }
        if !missing.isEmpty {
            findings.append(
                .problem(
                    "parts of the schema are missing: "
                        + missing.map { String($0.dropLast(" (missing)".count)) }.joined(separator: ", "),
                    "some tools drop triggers and views when they change a table: SQL cannot write to the "
                        + "queues without them; `sluice export` the file, and `sluice import` it into a new "
                        + "one"
                )
            )
        }
        let strangers = facts.strangers.filter { !$0.hasSuffix(" (missing)") }
        if !strangers.isEmpty {
            findings.append(
                .problem(
                    "parts of the schema are not Sluice's: \(strangers.joined(separator: ", "))",
                    "such a trigger runs whenever the queues change, and such a view can show anything: "
                        + "read them in `SELECT name, sql FROM sqlite_schema`, and drop what is not yours"
                )
            )
        }
        return findings
    }

    private static func ofFile(_ facts: FileFacts, path: String) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if let damage = facts.damages.first {
            findings.append(
                .problem(
                    "the file is damaged: \(damage)",
                    "end all programs that use it, copy it with its -wal and -shm, and recover the copy "
                        + "into a new file: "
                        + "`sqlite3 COPY .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 NEW`"
                )
            )
        }
        if facts.missingPlaceCount > 0 {
            findings.append(
                .problem(
                    "the order of the file lacks \(facts.missingPlaceCount) actions, which do not start",
                    "end all programs that use it, and have the order read anew: "
                        + "`sqlite3 FILE \"\(FileFacts.missingPlacesRemedy)\"`"
                )
            )
        }
        if facts.isNewer {
            findings.append(.problem("a newer version of Sluice has written the file", "update this tool"))
        } else if facts.steps.isEmpty, facts.damages.isEmpty {
            findings.append(
                .problem("there are no queues in the file", "check --file; an enqueue creates them")
            )
        } else if facts.missingStepCount > 0, facts.damages.isEmpty {
            findings.append(
                .note(
                    "\(facts.missingStepCount) steps of the schema are missing",
                    "the next program of this version that runs or enqueues applies them"
                )
            )
        }
        findings += ofParts(facts)
        if facts.isReadOnly {
            findings.append(
                facts.isOnReadOnlyMount
                    ? .note(
                        "the file system is mounted read-only: the file can be read, and not changed",
                        "remount it for writing, or copy the file to another place, to enqueue or run"
                    )
                    : .problem(
                        "the file cannot be written",
                        "check the permissions of the file and its directory"
                    )
            )
        }
        let mode = facts.pragmas.first { $0.name == "journal_mode" }?.value ?? ""
        if !facts.steps.isEmpty && mode != "wal" && !facts.isOnReadOnlyMount {
            findings.append(
                .note("journal_mode is \(mode), not wal", "the next program that opens the file sets it")
            )
        }
        return findings
    }

    /// Reports where the file lies, and under what names.
    private static func ofPlace(_ facts: FileFacts) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if facts.linkCount > 1 {
            findings.append(
                .problem(
                    "the file has \(facts.linkCount) names, by hard links: a program that opens another "
                        + "name uses another WAL, and commits are lost",
                    "have all programs use the same name, and copy the file with `sluice backup` instead of "
                        + "linking it; `find DIRECTORY -samefile FILE` lists the names"
                )
            )
        }
        if facts.isMountPoint {
            findings.append(
                .problem(
                    "the file is mounted as a single file, without its WAL: no broker opens it here",
                    "mount its directory instead"
                )
            )
        }
        if let network = facts.network {
            findings.append(
                .problem(
                    "the file lies on a network file system (\(network)): no broker opens it there",
                    "end all programs that use it, and move it to a disk of this machine"
                )
            )
        }
        return findings
    }

    private static func ofLocks(_ facts: FileFacts, _ holders: LockHolders, path: String) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if facts.isWriteLockHeld {
            findings.append(
                .problem(
                    "\(Doctor.names(holders.writers)) \(verb("hold", of: holders.writers)) the write lock: "
                        + "nothing can be enqueued or settled",
                    "a running broker releases it at once, so check again; a shell inside BEGIN must "
                        + "COMMIT or ROLLBACK"
                )
            )
        }
        let foreign = holders.foreignReaders
        // Processes that run the queues read all the time, and the WAL may grow far while they are busy.
        let readers = foreign.isEmpty && facts.walByteCount > longWAL ? holders.readers : foreign
        let cut = facts.runners.count { !$0.isDead } > 1 ? shortenSharedWAL : shortenWAL
        if facts.walByteCount > cut && !readers.isEmpty {
            findings.append(
                .problem(
                    "the WAL has grown to \(facts.walByteCount / 1_024 / 1_024) MiB while "
                        + "\(Doctor.names(readers)) \(verb("read", of: readers))",
                    "a reader keeps the WAL from being reset: end its transaction, if it is a shell "
                        + "inside BEGIN; a running broker then checkpoints and truncates the WAL"
                )
            )
        } else if facts.walByteCount > longWAL {
            findings.append(
                .problem(
                    "the WAL has grown to \(facts.walByteCount / 1_024 / 1_024) MiB",
                    "a reader keeps the WAL from being reset: end shells inside BEGIN and long queries; "
                        + "if there are none, a run of the queues checkpoints the WAL"
                )
            )
        }
        return findings
    }

    private static func ofQueues(_ facts: FileFacts) -> [DoctorFinding] {
        ofStates(facts.states.map { ($0.state, $0.count) }, dead: Int(facts.deadLetterCount))
    }

    /// Reports queues that need somebody, and dead letters.
    static func ofStates(_ states: [(state: String, count: Int)], dead count: Int) -> [DoctorFinding] {
        let stopped = [
            "parked": (
                "parked", "`sluice queues` shows why; fix the cause, then `sluice retry` or `sluice skip`"
            ),
            "undecodable": ("undecodable", "ship code that reads the payloads, or remove the actions"),
            "unknown kind": (
                "at an action of an unknown kind", "run a program that has a route for the kind"
            ),
            "no route": (
                "without a route",
                "run a program that has a route for the queues, or `sluice run` without --queue"
            ),
        ]
        var findings = states.compactMap { state, count in
            stopped[state].map { problem("\(queues(count)) \(count == 1 ? "is" : "are") \($0)", $1) }
        }
        for (state, text, advice) in [
            ("held", "held", "`sluice holds` shows who holds them and why; `sluice resume` ends a hold"),
            ("gate", "waiting for a gate", "`sluice queues` shows which; `sluice gate open` opens it"),
        ] {
            guard let count = states.first(where: { $0.state == state })?.count else { continue }
            findings.append(.note("\(queues(count)) \(count == 1 ? "is" : "are") \(text)", advice))
        }
        if count > 0 {
            findings.append(
                .note(
                    count == 1 ? "there is 1 dead letter" : "there are \(count) dead letters",
                    "`sluice dead list` shows them; `sluice dead requeue` puts one back"
                )
            )
        }
        return findings
    }

    private static func ofRunners(_ facts: FileFacts) -> [DoctorFinding] {
        guard !facts.runners.isEmpty else {
            guard facts.actionCount > 0 else { return [] }
            return [.note("actions wait and no process runs the queues", "start one, such as `sluice run`")]
        }
        return facts.runners.compactMap { runner in
            if let keeper = runner.keeper {
                return .note(
                    "process \(runner.pid), which ran the queues, has died, and process \(keeper) still ends "
                        + "its commands",
                    "their actions start again when all commands have ended: they get SIGTERM first, and "
                        + "SIGKILL after the --kill-after of the run; `ps --ppid \(keeper)` lists them"
                )
            }
            if runner.isDead {
                return .problem(
                    "process \(runner.pid), which ran the queues, has died",
                    "start it again, unless another process runs the queues: its actions are tried first; "
                        + "until then, SQL and the line `queues` here show them as running"
                )
            }
            return runner.isLeaseOver ? ofSilence(runner) : ofDescriptors(runner)
        }
    }

    private static func ofDescriptors(_ runner: RunningProcess) -> DoctorFinding? {
        guard let use = DescriptorUse(of: runner.pid), use.isNearlyAll else { return nil }
        return problem(
            "process \(runner.pid), which runs the queues, has \(use.open) of at most \(use.limit) "
                + "files open: attempts that need more wait",
            "raise its limit (`ulimit -n`, LimitNOFILE=), or let it run fewer actions at the same time"
        )
    }

    private static func ofSilence(_ runner: RunningProcess) -> DoctorFinding {
        let since = "since its lease ended at \(Times.text(runner.leaseUntil))"
        if runner.lives == true {
            return problem(
                "process \(runner.pid), which runs the queues, lives, but has written nothing \(since)",
                "if the write lock or the disk is named here, fix that; otherwise the process is stopped: "
                    + "continue or end it. Another process that runs the queues takes them over"
            )
        }
        return problem(
            "process \(runner.pid), which runs the queues, has given no sign of life \(since)",
            "check whether it is stopped, or runs in another container; a process that starts to run the "
                + "queues takes them over after 30 seconds"
        )
    }

    private static func ofLibrary() -> [DoctorFinding] {
        guard FileFacts.hasResetBug else { return [] }
        return [
            .note(
                "SQLite \(FileFacts.libraryVersion) has the WAL-reset bug (https://www.sqlite.org/wal.html): "
                    + "commits of other programs during a checkpoint can be lost",
                "use SQLite 3.51.3 or later, 3.50.7 or 3.44.6; actions enqueued by Sluice are safe"
            )
        ]
    }

    /// Returns the verb for one process or several; unknown holders count as one.
    private static func verb(_ verb: String, of holders: [LockHolder]) -> String {
        holders.count > 1 ? verb : verb + "s"
    }

    static func queues(_ count: Int) -> String { count == 1 ? "1 queue" : "\(count) queues" }
}
#endif
