#if Web
internal import Logging
internal import Sluice

/// The acts of operators, with their names: in the application's log and in the store.
struct AuditLog: Sendable {
    let broker: any ActionBroker
    let logger: Logger

    /// The most entries of a page.
    static let limit = 200

    /// The last entries, the newest first; of a job's progress the last alone.
    var entries: [AuditEntry] {
        get async throws { LostJobs.withoutOldProgress(try await broker.auditEntries(limit: Self.limit)) }
    }

    /// Writes an entry; the act is done, so an error is only logged.
    func note(_ act: String, by person: Operator, _ result: String) async {
        logger.notice(
            "An operator has acted",
            metadata: [
                "sluice.operator": "\(person.name)", "sluice.act": "\(act)", "sluice.result": "\(result)",
            ]
        )
        await keep(act, by: person, result)
    }

    /// Writes an entry to the store alone.
    func keep(_ act: String, by person: Operator, _ result: String) async {
        do {
            try await broker.audit(act, by: person.name, result: result)
        } catch {
            logger.error("The audit log of the store cannot be written", metadata: ["error": "\(error)"])
        }
    }
}
#endif
