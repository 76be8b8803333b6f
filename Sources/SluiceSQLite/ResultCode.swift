internal import CSluiceSQLite

/// A result code of SQLite, primary or extended.
///
/// A primary code used as a pattern matches its extended codes; an extended one matches itself alone:
///
/// ```swift
/// switch error.code {
/// case .ioErrorSync: …   // the extended code
/// case .ioError: …       // any other I/O error
/// default: …
/// }
/// ```
///
/// Source: <https://www.sqlite.org/rescode.html>
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The code without its extension: the lowest eight bits.
    package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || (pattern == pattern.primary && pattern == code.primary)
    }
}

extension ResultCode {
    package static let error = ResultCode(rawValue: SQLITE_ERROR)
    package static let permission = ResultCode(rawValue: SQLITE_PERM)
    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    package static let outOfMemory = ResultCode(rawValue: SQLITE_NOMEM)
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    package static let interrupted = ResultCode(rawValue: SQLITE_INTERRUPT)
    package static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    package static let tooBig = ResultCode(rawValue: SQLITE_TOOBIG)
    package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    package static let mismatch = ResultCode(rawValue: SQLITE_MISMATCH)
    package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)

    // Extended codes that decisions depend on. SQLITE_X | (n << 8) is a macro that Swift does not import.
    package static let ioErrorSync = ResultCode(rawValue: SQLITE_IOERR | (4 << 8))
    package static let ioErrorDirectorySync = ResultCode(rawValue: SQLITE_IOERR | (5 << 8))
    package static let constraintUnique = ResultCode(rawValue: SQLITE_CONSTRAINT | (8 << 8))
    package static let constraintTrigger = ResultCode(rawValue: SQLITE_CONSTRAINT | (7 << 8))
}

extension ResultCode: CustomStringConvertible {
    /// SQLite's own words for the code, with the number: `database is locked (5)`.
    package var description: String { "\(String(cString: sqlite3_errstr(rawValue))) (\(rawValue))" }
}
