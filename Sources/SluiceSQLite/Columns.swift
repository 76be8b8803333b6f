/// Reads the columns of a row one after the other, in the order of the statement's result.
///
/// A row of many columns is read so: a column that is added to the statement is added at the same place here,
/// and no number changes.
package struct Columns {
    // Inlined where it is used: each claim reads some 25 columns.
    @usableFromInline let row: Row
    @usableFromInline var next: Int32 = 0

    @inlinable init(_ row: Row) { self.row = row }

    @inlinable mutating func column() -> Int32 {
        next += 1
        return next - 1
    }

    @inlinable package mutating func int64() -> Int64 { row.int64(column()) }
    @inlinable package mutating func int() -> Int { row.int(column()) }
    @inlinable package mutating func count() -> Int { row.count(column()) }
    @inlinable package mutating func bool() -> Bool { row.bool(column()) }
    @inlinable package mutating func text() -> String { row.text(column()) }
    @inlinable package mutating func optionalInt64() -> Int64? { row.optionalInt64(column()) }
    @inlinable package mutating func optionalText() -> String? { row.optionalText(column()) }
    @inlinable package mutating func value() -> Value { row.value(column()) }
    @inlinable package mutating func skip() { next += 1 }
    @inlinable package func noteDamage() { row.noteDamage() }
}

extension Row {
    @inlinable package var columns: Columns { Columns(self) }
}
