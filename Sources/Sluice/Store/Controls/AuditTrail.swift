internal import SluiceSQLite

/// What operators did.
final class AuditTrail: TransactionSubject {
    let core: TransactionCore

    /// Older entries are deleted.
    private static let limit = 10_000

    init(_ core: TransactionCore) { self.core = core }

    func append(_ act: String, by person: String, result: String) throws(SQLiteError) {
        let entry = AuditEntry(act, by: person, result: result, at: now.date)
        try connection.cached(
            "INSERT INTO sluice_audit_rows (at_us, operator, act, result) VALUES (?1, ?2, ?3, ?4)"
        ).bind(1, now.microseconds).bind(2, entry.person).bind(3, entry.act)
            .bind(4, entry.result).run()
        try connection.cached(
            "DELETE FROM sluice_audit_rows WHERE id <= (SELECT max(id) FROM sluice_audit_rows) - ?1"
        ).bind(1, Self.limit).run()
    }
}
