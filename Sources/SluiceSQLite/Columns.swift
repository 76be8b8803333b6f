/// Reads the columns of a row one after the other, in the order of the statement's result.
///
/// A row of many columns is read so: a column that is added to the statement is added at the same place here,
/// and no number changes.
package struct Columns {
    private let row: Row
    private var next: Int32 = 0

    init(_ row: Row) { self.row = row }

    private mutating func column() -> Int32 {
        next += 1
        return next - 1
    }

    package mutating func int64() -> Int64 { row.int64(column()) }
    package mutating func int() -> Int { row.int(column()) }
    package mutating func count() -> Int { row.count(column()) }
    package mutating func bool() -> Bool { row.bool(column()) }
    package mutating func text() -> String { row.text(column()) }
    package mutating func optionalInt64() -> Int64? { row.optionalInt64(column()) }
    package mutating func optionalText() -> String? { row.optionalText(column()) }
    package mutating func value() -> Value { row.value(column()) }
    package mutating func skip() { next += 1 }
    package func noteDamage() { row.noteDamage() }
}

extension Row {
    package var columns: Columns { Columns(self) }
}
