internal import CSluiceSQLite

/// A prepared statement of one connection.
///
/// Bind, then call `run`, `first` or `all`; each resets it. Like its connection, it has one caller at a time.
package final class Statement {
    @usableFromInline let handle: OpaquePointer
    private let connection: OpaquePointer
    /// The text it was prepared from, for errors.
    package let sql: String

    init(connection: OpaquePointer, sql: String, isCached: Bool) throws(SQLiteError) {
        var handle: OpaquePointer?
        let flags = isCached ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(connection, sql, -1, flags, &handle, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: connection, sql: sql) }
        guard let handle else {
            throw SQLiteError(code: .misuse, message: "the text holds no statement", sql: sql)
        }
        self.handle = handle
        self.connection = connection
        self.sql = sql
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: - Running

    /// Runs a statement that returns no rows.
    ///
    /// - Returns: `changes()` of this statement: rows inserted, updated or deleted by it, not by triggers.
    ///   The number is meaningless for statements that change nothing.
    @discardableResult
    package func run() throws(SQLiteError) -> Int {
        while try step() {}
        return Int(sqlite3_changes64(connection))
    }

    /// Reads the first row, if there is one.
    @inlinable package func first<Element>(_ read: (Row) -> Element) throws(SQLiteError) -> Element? {
        guard try step() else { return nil }
        var isDamaged = false
        let element = withUnsafeMutablePointer(to: &isDamaged) { read(Row(handle: handle, damage: $0)) }
        // Without memory it may have read NULL, so this error is checked first.
        try reset()
        if isDamaged { throw damaged }
        return element
    }

    /// Returns whether there is a row.
    package func hasRow() throws(SQLiteError) -> Bool {
        let hasRow = try step()
        try reset()
        return hasRow
    }

    /// Ends the reading of rows.
    ///
    /// Without memory a column is read as NULL; SQLite reports this here or at the next step
    /// (<https://www.sqlite.org/c3ref/column_blob.html>).
    @usableFromInline func reset() throws(SQLiteError) { try check(sqlite3_reset(handle)) }

    /// Reads all rows.
    @inlinable package func all<Element>(_ read: (Row) -> Element) throws(SQLiteError) -> [Element] {
        var elements: [Element] = []
        var isDamaged = false
        while try step() {
            let element = withUnsafeMutablePointer(to: &isDamaged) { read(Row(handle: handle, damage: $0)) }
            elements.append(element)
            guard isDamaged else { continue }
            try reset()
            throw damaged
        }
        return elements
    }

    /// Reads the rows in pages, while `body` returns `true`; the last page may be shorter.
    ///
    /// It is one run of the statement: `body` must not use it.
    package func pages<Element>(
        of count: Int,
        _ read: (Row) -> Element,
        _ body: ([Element]) throws -> Bool
    ) throws {
        var page: [Element] = []
        do {
            while try step() {
                var isDamaged = false
                page.append(
                    withUnsafeMutablePointer(to: &isDamaged) { read(Row(handle: handle, damage: $0)) }
                )
                if isDamaged { throw damaged }
                guard page.count == count else { continue }
                guard try body(page) else { return try reset() }
                page.removeAll(keepingCapacity: true)
            }
        } catch {
            // This error is thrown; the one of the reset is the same.
            sqlite3_reset(handle)
            throw error
        }
        if !page.isEmpty { _ = try body(page) }
    }

    @usableFromInline var damaged: SQLiteError {
        SQLiteError(code: .corrupt, message: "a row holds a value that its table does not allow", sql: sql)
    }

    /// Moves to the next row, or returns `false` if there is none.
    ///
    /// The statement is then reset, as after an error, and can be used again.
    @usableFromInline func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            defer { sqlite3_reset(handle) }
            throw SQLiteError(code, on: connection, sql: sql)
        }
    }

    // MARK: - Binding

    /// Binds an integer at a position counted from 1; `nil` binds NULL.
    @discardableResult
    package func bind(_ index: Int32, _ value: Int64?) throws(SQLiteError) -> Statement {
        try check(value.map { sqlite3_bind_int64(handle, index, $0) } ?? sqlite3_bind_null(handle, index))
    }

    /// Binds an integer.
    @discardableResult
    package func bind(_ index: Int32, _ value: Int) throws(SQLiteError) -> Statement {
        try check(sqlite3_bind_int64(handle, index, Int64(value)))
    }

    /// Binds a truth value as 1 or 0.
    @discardableResult
    package func bind(_ index: Int32, _ value: Bool) throws(SQLiteError) -> Statement {
        try check(sqlite3_bind_int64(handle, index, value ? 1 : 0))
    }

    /// Binds a real number; SQLite stores NaN as NULL, so callers refuse it.
    @discardableResult
    package func bind(_ index: Int32, _ value: Double) throws(SQLiteError) -> Statement {
        try check(sqlite3_bind_double(handle, index, value))
    }

    /// Binds text, which SQLite copies; `nil` binds NULL.
    @discardableResult
    package func bind(_ index: Int32, _ value: String?) throws(SQLiteError) -> Statement {
        guard var value else { return try check(sqlite3_bind_null(handle, index)) }
        let code = value.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { characters in
                csqlite_bind_text_copy(handle, index, characters.baseAddress, Int32(clamping: utf8.count))
            }
        }
        return try check(code)
    }

    /// Binds a value of any storage class.
    @discardableResult
    package func bind(_ index: Int32, _ value: Value) throws(SQLiteError) -> Statement {
        switch value {
        case .null: return try check(sqlite3_bind_null(handle, index))
        case .integer(let integer): return try bind(index, integer)
        case .real(let real): return try bind(index, real)
        case .text(let text): return try bind(index, text)
        case .blob(let bytes):
            let code = bytes.withUnsafeBytes {
                $0.isEmpty
                    ? sqlite3_bind_zeroblob(handle, index, 0)
                    : csqlite_bind_blob_copy(handle, index, $0.baseAddress, Int32(clamping: $0.count))
            }
            return try check(code)
        }
    }

    @discardableResult
    private func check(_ code: Int32) throws(SQLiteError) -> Statement {
        guard code == SQLITE_OK else { throw SQLiteError(code, on: connection, sql: sql) }
        return self
    }
}
