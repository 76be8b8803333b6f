internal import CSluiceSQLite

/// The error of a failed SQLite call.
///
/// It has the code, SQLite's message and the text of the statement with its `?` in place. It never has bound
/// values, so that a payload cannot reach a log through an error.
package struct SQLiteError: Error, Hashable, Sendable {
    /// The extended result code.
    package let code: ResultCode
    /// SQLite's message, for example `no such table: actions`.
    package let message: String
    /// The failed statement, without its arguments; `nil` if there was none.
    package let sql: String?
    /// The error of the operating system that caused an I/O or open error; 0 if there is none.
    package let systemErrno: Int32

    package init(code: ResultCode, message: String, sql: String? = nil, systemErrno: Int32 = 0) {
        self.code = code
        self.message = message
        self.sql = sql
        self.systemErrno = systemErrno
    }

    /// Reads the error of the last failed call on `handle`.
    init(_ code: Int32, on handle: OpaquePointer?, sql: String? = nil) {
        let extended = handle.map { sqlite3_extended_errcode($0) } ?? code
        // The handle's code belongs to `code` only if both name the same kind of failure.
        let isSame = extended & 0xFF == code & 0xFF
        let message = isSame ? handle.map { String(cString: sqlite3_errmsg($0)) } : nil
        self.init(
            code: ResultCode(rawValue: isSame ? extended : code),
            message: message ?? String(cString: sqlite3_errstr(code)),
            sql: sql,
            systemErrno: handle.map { sqlite3_system_errno($0) } ?? 0
        )
    }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        "SQLite error \(code.rawValue): \(message)" + (sql.map { " - while executing `\($0)`" } ?? "")
    }
}
