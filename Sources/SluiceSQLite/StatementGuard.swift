internal import CSluiceSQLite

/// Keeps code of the application's, while it runs on a connection of ours, from our transaction and our
/// tables.
///
/// SQLite asks its authorizer when a statement is prepared
/// (<https://www.sqlite.org/c3ref/set_authorizer.html>).
final class StatementGuard {
    /// Tables, views, indexes and triggers whose names begin so are ours; in lower case.
    let prefix: String
    /// Views of ours that triggers of the application's may write to; in lower case.
    let views: Set<String>
    var isOn = false

    init(prefix: String, views: Set<String>) { (self.prefix, self.views) = (prefix, views) }

    /// Pragmas that take an argument and change nothing beyond the transaction.
    private static let harmless: Set<String> = [
        "defer_foreign_keys", "foreign_key_check", "foreign_key_list", "index_info", "index_list",
        "index_xinfo", "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo",
    ]
    /// Pragmas that act without an argument.
    private static let acting: Set<String> = [
        "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint",
    ]

    /// Whether a step of a statement is allowed.
    ///
    /// - Parameter trigger: The innermost trigger or view that the step belongs to. Our own write to our
    ///   tables.
    func allows(_ action: Int32, _ first: String?, _ second: String?, trigger: String?) -> Bool {
        guard isOn else { return true }
        switch action {
        case SQLITE_READ, SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_RECURSIVE: return true
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH: return false
        case SQLITE_PRAGMA:
            let name = first?.lowercased() ?? ""
            return second == nil ? !Self.acting.contains(name) : Self.harmless.contains(name)
        default:
            if isOurs(trigger) { return true }
            if trigger != nil, [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action),
                let first, views.contains(first.lowercased())
            {
                return true
            }
            return !isOurs(first) && !isOurs(second)
        }
    }

    private func isOurs(_ name: String?) -> Bool { name?.lowercased().hasPrefix(prefix) ?? false }
}

extension Connection {
    /// Runs code that is not ours in the open transaction.
    ///
    /// Meanwhile statements that are prepared may read anything and write to what is not ours, but neither
    /// end, begin nor nest transactions, nor attach databases, nor set anything; a commit by a statement that
    /// was prepared before fails. Afterwards no statement stands on a row.
    ///
    /// - Parameters:
    ///   - prefix: What names of ours begin with, in lower case.
    ///   - views: Views of ours that triggers of the application's may write to.
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

    /// Runs our own code amid what is not ours.
    package func unguarded<Output>(_ body: () throws -> Output) rethrows -> Output {
        guard let statementGuard, statementGuard.isOn else { return try body() }
        statementGuard.isOn = false
        defer { statementGuard.isOn = true }
        return try body()
    }

    /// Once, and only where it is needed: it has every statement prepared anew.
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

    /// Ends the reads that are under way: they would keep the snapshot beyond the commit.
    private func resetStatements() {
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if sqlite3_stmt_busy(current) != 0 { sqlite3_reset(current) }
            statement = sqlite3_next_stmt(handle, current)
        }
    }
}
