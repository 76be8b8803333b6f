#if CommandLineTool
internal import Sluice
#if PostgreSQL
internal import SluicePostgres
#endif

extension Doctor {
    /// Checks a server, its settings and its queues.
    func checkServer() async throws {
        #if PostgreSQL
        let health = try await store.withReader { broker in
            guard let server = broker.engine as? ServerEngine else {
                throw Failure(.internalError, "the queues are not on a server")
            }
            return try await server.health()
        }
        let findings = DoctorFinding.all(health)
        if output.json {
            Terminal.answer(json(health, findings))
        } else {
            Terminal.answer(lines(health) + [""] + Self.lines(findings, output.paint))
        }
        if findings.contains(where: \.isProblem) { throw Failure(.leftover) }
        #endif
    }

    #if PostgreSQL
    private func lines(_ health: PostgresHealth) -> [String] {
        let settings = ["synchronous_commit", "synchronous_standby_names", "autovacuum"]
            .map { "\($0)=\(health.settings[$0] ?? "")" }
        let workers = health.workers.map { worker in
            worker.leaseLeft > .zero
                ? "\(worker.name) (\(worker.runningCount) running, lease \(Times.span(worker.leaseLeft)))"
                : "\(worker.name) (lease over)"
        }
        let states = health.states.sorted { $0.key.rawValue < $1.key.rawValue }
        return Facts.lines(
            [
                ("server", "\(health.place), as \(health.user)"),
                (
                    "sluice",
                    "\(SluiceCommand.version), schema \(health.stepCount) of \(health.knownStepCount)"
                ),
                ("PostgreSQL", health.version),
                ("settings", settings.joined(separator: " ")),
                ("doorbell", health.rings ? "works" : "does not work"),
                ("run by", workers.isEmpty ? "none" : workers.joined(separator: ", ")),
                (
                    "actions",
                    "\(health.actionCount), dead letters \(health.deadLetterCount), holds \(health.holdCount)"
                ),
                ("queues", states.map { "\($0.value) \($0.key.rawValue)" }.joined(separator: ", ")),
            ],
            output.paint
        )
    }

    private func json(_ health: PostgresHealth, _ findings: [DoctorFinding]) -> String {
        let workers = health.workers.map {
            JSONText.object([
                ("process", JSONText.string($0.name)), ("running", String($0.runningCount)),
                ("lease_left_s", String($0.leaseLeft / .seconds(1))),
            ])
        }
        let settings = health.settings.sorted { $0.key < $1.key }
        let states = health.states.sorted { $0.key.rawValue < $1.key.rawValue }
        return JSONText.object([
            ("server", JSONText.string(health.place)),
            ("version", JSONText.string(SluiceCommand.version)),
            ("postgresql", JSONText.string(health.version)),
            ("schema", String(health.stepCount)),
            ("settings", JSONText.object(settings.map { ($0.key, JSONText.string($0.value)) })),
            ("rings", String(health.rings)),
            ("runners", JSONText.array(workers)),
            ("actions", String(health.actionCount)),
            ("dead", String(health.deadLetterCount)),
            ("holds", String(health.holdCount)),
            ("states", JSONText.object(states.map { ($0.key.rawValue, String($0.value)) })),
            ("findings", JSONText.array(findings.map(\.json))),
            ("is_healthy", String(!findings.contains(where: \.isProblem))),
        ])
    }
    #endif
}
#endif
