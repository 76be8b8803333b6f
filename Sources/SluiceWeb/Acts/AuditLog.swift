#if Web
internal import Logging
internal import Sluice

/// The acts of operators, with their names: in the application's log and in the store.
struct AuditLog: Sendable {
    let store: CurrentStore
    let logger: Logger
    /// Whether the store takes no entries.
    let isReadOnly: Bool

    /// The most entries of a page.
    static let limit = 200

    /// The last entries, the newest first; of a job's progress the last alone.
    var entries: [AuditEntry] {
        get async throws {
            LostJobs.withoutOldProgress(try await store.broker.auditEntries(limit: Self.limit))
        }
    }

    /// Writes an entry; the act is done, so an error is only logged.
    func note(_ act: String, by person: Operator, _ result: String) async {
        var facts: Logger.Metadata = [
            "sluice.operator": "\(person.name)", "sluice.act": "\(act)", "sluice.result": "\(result)",
        ]
        if let caller = Caller.current { facts["sluice.address"] = "\(caller.description)" }
        logger.notice("An operator has acted", metadata: facts)
        await keep(act, by: person, result)
    }

    /// Writes an entry to the store alone.
    func keep(_ act: String, by person: Operator, _ result: String) async {
        if isReadOnly { return }
        do {
            try await store.broker.audit(act, by: person.name, result: result)
        } catch {
            logger.error("The audit log of the store cannot be written", metadata: ["error": "\(error)"])
        }
    }
}
#endif
