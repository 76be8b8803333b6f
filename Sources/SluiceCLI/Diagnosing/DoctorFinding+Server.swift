#if CommandLineTool && PostgreSQL
internal import Sluice
internal import SluicePostgres

/// Findings about queues on a server.
extension DoctorFinding {
    /// Older snapshots make queues slow, as they keep deleted rows.
    private static let oldSnapshot: Duration = .seconds(60)
    /// So many deleted rows for each that is left are too many, once there are some.
    private static let deadRatio: Int64 = 10
    private static let fewRows: Int64 = 10_000
    /// Times of schedules and expiries are then surely wrong.
    private static let wrongClock: Duration = .seconds(2)
    private static let firstVersion = 15
    /// In milliseconds: an enqueue waits 10 seconds for a lock.
    private static let longestStatement = 15_000
    private static let connectionsOfABroker = 4

    /// Returns all findings about a server, the worst first.
    static func all(_ health: PostgresHealth) -> [DoctorFinding] {
        let findings =
            ofServer(health) + ofTransactions(health) + ofTables(health) + ofSettings(health)
            + ofRole(health) + ofWorkers(health) + ofQueues(health)
        return findings.filter(\.isProblem) + findings.filter { !$0.isProblem }
    }

    private static func ofServer(_ health: PostgresHealth) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if health.versionNumber / 10_000 < firstVersion {
            findings.append(
                .problem(
                    "the server is PostgreSQL \(health.version)",
                    "the queues need PostgreSQL \(firstVersion) or later: update the server"
                )
            )
        }
        if health.isStandby {
            findings.append(
                .problem(
                    "the server is a standby, which only reads",
                    "give the primary's address, or add target_session_attrs=read-write to it"
                )
            )
        }
        if let refusal = health.refusal {
            findings.append(
                .problem(
                    "a worker cannot run here: \(refusal)",
                    "remove the cause; nothing runs before. The server's log says more"
                )
            )
        }
        for text in health.contradictions {
            findings.append(
                .problem(
                    text,
                    "this is a fault of Sluice: please report it. Stop all workers for longer than a lease: "
                        + "then the next one takes the queue over"
                )
            )
        }
        if !health.rings {
            findings.append(
                .note(
                    "the doorbell does not work: a notification did not arrive on a connection that listened",
                    "idle workers poll instead. Behind a pooler set `listens` to false, or give "
                        + "`listeningURL` an address past it"
                )
            )
        }
        if abs(health.clockAhead) >= wrongClock {
            let side = health.clockAhead > .zero ? "ahead of" : "behind"
            findings.append(
                .note(
                    "this machine's clock is \(Times.span(abs(health.clockAhead))) \(side) the server's",
                    "the server's clock counts for the queues; synchronize both, as programs compute times "
                        + "of schedules and expiries by their machine's clock"
                )
            )
        }
        return findings
    }

    private static func abs(_ span: Duration) -> Duration { span < .zero ? .zero - span : span }

    private static func ofTransactions(_ health: PostgresHealth) -> [DoctorFinding] {
        let old = health.snapshots.filter { $0.age >= oldSnapshot || $0.state == "slot" }
        var findings = old.map { snapshot in
            let name = snapshot.application.isEmpty ? "" : " (\(snapshot.application))"
            let age = snapshot.state == "slot" ? "" : " since \(Times.span(snapshot.age)) ago"
            return problem(
                "\(snapshot.owner)\(name) holds a snapshot, \(snapshot.state)\(age): deleted rows stay, and "
                    + "queues become slow",
                "end it, if it is not a dump or report that soon ends: for a process "
                    + "SELECT pg_terminate_backend(PROCESS)"
            )
        }
        if health.preparedCount > 0 {
            findings.append(
                .note(
                    "there are prepared transactions: \(health.preparedCount)",
                    "one that nobody ends keeps its locks and deleted rows for ever: see pg_prepared_xacts, "
                        + "and end them with COMMIT PREPARED or ROLLBACK PREPARED"
                )
            )
        }
        if !health.seesSessions {
            findings.append(
                .note(
                    "the role \(health.user) does not see the transactions of other roles",
                    "to check them: GRANT pg_read_all_stats TO \(health.user)"
                )
            )
        }
        return findings
    }

    private static func ofTables(_ health: PostgresHealth) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if health.settings["autovacuum"] == "off" || health.settings["track_counts"] == "off" {
            findings.append(
                .problem(
                    "autovacuum is off: deleted rows stay, and queues become slow",
                    "ALTER SYSTEM SET autovacuum = on, also track_counts; then SELECT pg_reload_conf()"
                )
            )
        }
        for table in health.tables where !table.hasAutovacuum {
            findings.append(
                .problem(
                    "autovacuum is off for the table \(table.name)",
                    "ALTER TABLE \(table.name) RESET (autovacuum_enabled)"
                )
            )
        }
        for table in health.tables
        where table.deadCount >= fewRows && table.deadCount > table.liveCount * deadRatio {
            findings.append(
                .problem(
                    "the table \(table.name) has \(table.deadCount) deleted rows and \(table.liveCount) "
                        + "others",
                    "something holds an old snapshot, or autovacuum cannot keep up: see the findings about "
                        + "snapshots, and VACUUM \(table.name)"
                )
            )
        }
        return findings
    }

    private static func ofSettings(_ health: PostgresHealth) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        for name in ["fsync", "full_page_writes"] where health.settings[name] == "off" {
            findings.append(
                .problem(
                    "\(name) is off: a crash of the machine can destroy the database",
                    "ALTER SYSTEM SET \(name) = on"
                )
            )
        }
        let commit = health.settings["synchronous_commit"] ?? ""
        if commit == "off" {
            findings.append(
                .problem(
                    "synchronous_commit is off: a crash of the server loses actions, and claims whose "
                        + "handlers ran",
                    "set it for the roles that enqueue and run: ALTER ROLE … SET synchronous_commit = on"
                )
            )
        }
        let standbys = health.settings["synchronous_standby_names"] ?? ""
        if standbys.isEmpty || commit == "local" {
            findings.append(
                .note(
                    "no synchronous standby is configured: a failover can lose actions, and hand a queue to "
                        + "another process while a handler runs",
                    "if the loss of the machine must lose nothing, set synchronous_standby_names"
                )
            )
        } else if health.seesSessions, health.synchronousStandbyCount == 0 {
            findings.append(
                .problem(
                    "no synchronous standby is connected (\(standbys)): commits wait for it",
                    "start it, or change synchronous_standby_names"
                )
            )
        }
        if health.settings["idle_in_transaction_session_timeout"] == "0" {
            findings.append(
                .note(
                    "idle_in_transaction_session_timeout is not set",
                    "a program that leaves a transaction open after an enqueue stops enqueues into that "
                        + "queue: set it to some seconds for the roles that enqueue"
                )
            )
        }
        return findings
    }

    /// Settings with which the role of a broker cannot run queues, or not always.
    private static func ofRole(_ health: PostgresHealth) -> [DoctorFinding] {
        func setting(_ name: String, _ consequence: String, _ value: String) -> DoctorFinding {
            problem(
                "\(name) is \(health.settings[name] ?? "") for the role \(health.user): \(consequence)",
                "ALTER ROLE \(health.user) SET \(name) = \(value)"
            )
        }
        var findings: [DoctorFinding] = []
        if health.settings["default_transaction_isolation"] != "read committed" {
            let isolation = "default_transaction_isolation"
            findings.append(setting(isolation, "it cannot run queues", "'read committed'"))
        }
        if health.settings["default_transaction_read_only"] == "on", !health.isStandby {
            findings.append(
                setting("default_transaction_read_only", "it can neither enqueue nor run queues", "off")
            )
        }
        let limit = Int(health.settings["statement_timeout"] ?? "") ?? 0
        if limit > 0, limit <= longestStatement {
            findings.append(
                setting(
                    "statement_timeout",
                    "in milliseconds; an enqueue can wait 10 seconds for a lock",
                    "0"
                )
            )
        }
        let most = Int(health.settings["max_connections"] ?? "") ?? .max
        if health.workers.count * connectionsOfABroker > most {
            findings.append(
                .note(
                    "max_connections is \(most), and \(health.workers.count) workers may open "
                        + "\(health.workers.count * connectionsOfABroker)",
                    "raise it, or put a pooler before the server"
                )
            )
        }
        return findings
    }

    private static func ofWorkers(_ health: PostgresHealth) -> [DoctorFinding] {
        let lapsed = health.workers.filter { $0.leaseLeft <= .zero }.map { worker in
            problem(
                "the lease of \(worker.name), which ran the queues, ended "
                    + "\(Times.span(.zero - worker.leaseLeft)) ago"
                    + (worker.runningCount == 0 ? "" : "; it had \(actions(worker.runningCount))"),
                "a worker takes over its queues when its own lease has lasted for a whole lease; if none "
                    + "runs, start one"
            )
        }
        guard lapsed.count == health.workers.count, health.actionCount > 0 else { return lapsed }
        let advice = "start one, such as `sluice run`"
        return lapsed + [problem("actions wait and no process runs the queues", advice)]
    }

    private static func actions(_ count: Int) -> String { count == 1 ? "1 action" : "\(count) actions" }

    private static func ofQueues(_ health: PostgresHealth) -> [DoctorFinding] {
        ofStates(health.states.map { ($0.rawValue, $1) }.sorted { $0.0 < $1.0 }, dead: health.deadLetterCount)
    }
}
#endif
