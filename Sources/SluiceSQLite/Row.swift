internal import CSluiceSQLite

/// The current row of a statement; valid only inside the closure that receives it.
///
/// Columns are counted from 0. Reading another storage class converts as SQLite does.
package struct Row {
    let handle: OpaquePointer
    /// Lives as long as the closure runs.
    let damage: UnsafeMutablePointer<Bool>

    @usableFromInline init(handle: OpaquePointer, damage: UnsafeMutablePointer<Bool>) {
        (self.handle, self.damage) = (handle, damage)
    }

    /// Marks a value that its table does not allow: the read ends with an error, as for a damaged file.
    package func noteDamage() { damage.pointee = true }

    /// The integer in a column; NULL reads as 0.
    package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    package func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
    /// The count in a column, clamped to 0...2³¹ - 1.
    package func count(_ column: Int32) -> Int { Int(max(Int32(clamping: int64(column)), 0)) }
    /// Whether the integer in a column is not zero.
    package func bool(_ column: Int32) -> Bool { sqlite3_column_int64(handle, column) != 0 }
    /// Whether the column is NULL.
    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    /// The integer, or `nil` for NULL.
    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    /// The text, or `nil` for NULL.
    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// The text in a column, empty for NULL; bytes that are not UTF-8 are replaced with U+FFFD.
    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The value with its storage class.
    package func value(_ column: Int32) -> Value {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .integer(int64(column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
        case SQLITE_TEXT: return .text(text(column))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(handle, column))
            let start = sqlite3_column_blob(handle, column)
            return .blob([UInt8](UnsafeRawBufferPointer(start: start, count: count)))
        default: return .null
        }
    }
}
