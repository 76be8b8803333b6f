internal import CSluiceSQLite

/// Protects the engine's transaction and tables from application code on an engine's connection.
///
/// SQLite calls its authorizer when a statement is prepared
/// (<https://www.sqlite.org/c3ref/set_authorizer.html>).
final class StatementGuard {
    /// The prefix of the engine's tables, views, indexes and triggers; in lower case.
    let prefix: String
    /// Views of the engine that the application's triggers may write to; in lower case.
    let views: Set<String>
    var isOn = false

    init(prefix: String, views: Set<String>) { (self.prefix, self.views) = (prefix, views) }

    /// Pragmas that have an argument and change nothing beyond the transaction.
    private static let harmless: Set<String> = [
        "defer_foreign_keys", "foreign_key_check", "foreign_key_list", "index_info", "index_list",
        "index_xinfo", "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo",
    ]
    /// Pragmas that act without an argument.
    private static let acting: Set<String> = [
        "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint",
    ]

    /// Returns whether a step of a statement is allowed.
    ///
    /// The engine's own triggers and views may write to its tables; `trigger` is the innermost of the step.
    func allows(_ action: Int32, _ first: String?, _ second: String?, trigger: String?) -> Bool {
        switch action {
        case SQLITE_READ, SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_RECURSIVE: return true
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH: return false
        case SQLITE_PRAGMA:
            let name = first?.lowercased() ?? ""
            return second == nil ? !Self.acting.contains(name) : Self.harmless.contains(name)
        default:
            if isOurs(trigger) { return true }
            let isWrite = [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action)
            if trigger != nil, isWrite, let first, views.contains(first.lowercased()) { return true }
            return !isOurs(first) && !isOurs(second)
        }
    }

    private func isOurs(_ name: String?) -> Bool { name?.lowercased().hasPrefix(prefix) ?? false }
}

extension Connection {
    /// Runs application code in the open transaction.
    ///
    /// Statements prepared by it may read anything and write to the application's tables, and its triggers
    /// to `views`. They cannot end, begin or nest transactions, attach databases, or change settings; a
    /// commit by an earlier prepared statement fails. Afterwards all statements are reset.
    package func guarded<Output>(
        protecting prefix: String,
        butForViewsInTriggers views: Set<String>,
        _ body: () throws -> Output
    ) rethrows -> Output {
        installGuard(prefix, views)
        statementGuard?.isOn = true
        sqlite3_commit_hook(handle, { _ in 1 }, nil)
        defer {
            sqlite3_commit_hook(handle, nil, nil)
            statementGuard?.isOn = false
            resetStatements()
        }
        return try body()
    }

    /// Runs the engine's own code inside application code.
    package func unguarded<Output>(_ body: () throws -> Output) rethrows -> Output {
        guard let statementGuard, statementGuard.isOn else { return try body() }
        statementGuard.isOn = false
        defer { statementGuard.isOn = true }
        return try body()
    }

    /// Installed once and only if needed, as it makes SQLite prepare every statement again.
    private func installGuard(_ prefix: String, _ views: Set<String>) {
        guard statementGuard == nil else { return }
        let installed = StatementGuard(prefix: prefix, views: views)
        statementGuard = installed
        sqlite3_set_authorizer(
            handle,
            { context, action, first, second, _, trigger in
                guard let context else { return SQLITE_DENY }
                // The guard lives as long as its connection, and so as long as the authorizer.
                let guardian = Unmanaged<StatementGuard>.fromOpaque(context).takeUnretainedValue()
                guard guardian.isOn, !mutant("statement guard") else { return SQLITE_OK }
                func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
                let isAllowed = guardian.allows(action, text(first), text(second), trigger: text(trigger))
                return isAllowed ? SQLITE_OK : SQLITE_DENY
            },
            Unmanaged.passUnretained(installed).toOpaque()
        )
    }

    /// Ends reads in progress, which would keep the snapshot beyond the commit.
    private func resetStatements() {
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if sqlite3_stmt_busy(current) != 0 { sqlite3_reset(current) }
            statement = sqlite3_next_stmt(handle, current)
        }
    }
}
