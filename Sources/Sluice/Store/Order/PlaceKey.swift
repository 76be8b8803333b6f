internal import SluiceSQLite

/// A sort key as the file stores and compares it.
///
/// The keys of one queue have one type, so numbers are never compared with text.
enum PlaceKey: Sendable, Equatable {
    /// An integer, a date in microseconds, or 0 for the order of arrival.
    case integer(Int64)
    case real(Double)
    /// Text, or a composite key: see ``CompositeKey``.
    case text(String)

    enum Comparison { case less, equal, greater }

    /// Compares as SQLite does: numbers by value, text by its UTF-8 bytes, numbers before text
    /// (<https://www.sqlite.org/datatype3.html#sort_order>).
    static func compare(_ left: PlaceKey, _ right: PlaceKey) -> Comparison {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): compare(left, right)
        case (.real(let left), .real(let right)): compare(left, right)
        case (.text(let left), .text(let right)): compareBytes(left, right)
        case (.text, _): .greater
        case (_, .text): .less
        case (.integer(let left), .real(let right)): compare(Double(left), right)
        case (.real(let left), .integer(let right)): compare(left, Double(right))
        }
    }

    private static func compare<Number: Comparable>(_ left: Number, _ right: Number) -> Comparison {
        left < right ? .less : left == right ? .equal : .greater
    }

    private static func compareBytes(_ left: String, _ right: String) -> Comparison {
        if left.utf8.elementsEqual(right.utf8) { return .equal }
        return left.utf8.lexicographicallyPrecedes(right.utf8) ? .less : .greater
    }

    static func == (left: PlaceKey, right: PlaceKey) -> Bool { compare(left, right) == .equal }

    init(_ key: SortKey) {
        switch key.storage {
        case .arrival: self = .integer(0)
        case .integer(let integer): self = .integer(integer)
        case .date(let time): self = .integer(time.microseconds)
        case .real(let real): self = .real(real)
        case .text(let text): self = .text(text)
        case .composite(let parts): self = .text(CompositeKey.text(parts))
        }
    }

    /// Reads a key from a column that holds an integer, a real or text; any other value is damage.
    init(_ row: Row, _ column: Int32) { self.init(row.value(column), noteDamage: row.noteDamage) }

    /// Reads a key from the next column.
    init(_ columns: inout Columns) {
        let value = columns.value()
        self.init(value, noteDamage: columns.noteDamage)
    }

    private init(_ value: Value, noteDamage: () -> Void) {
        switch value {
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let text): self = .text(text)
        case .null, .blob:
            noteDamage()
            self = .integer(0)
        }
    }
}

extension SortKey {
    init(_ key: PlaceKey, _ kind: Kind) {
        switch (kind, key) {
        case (.date, .integer(let time)): self.init(storage: .date(Timestamp(microseconds: time)))
        case (.arrival, _): self = .arrival
        case (_, .integer(let integer)): self = .integer(integer)
        case (_, .real(let real)): self = .real(real)
        case (_, .text(let text)):
            // A text that is no key of the type was written by SQL.
            let composite = kind.parts.isEmpty ? nil : SortKey(compositeText: text, kind)
            self = composite ?? .text(text)
        }
    }
}

extension Statement {
    @discardableResult
    func bind(_ index: Int32, _ key: PlaceKey) throws(SQLiteError) -> Statement {
        switch key {
        case .integer(let integer): try bind(index, integer)
        case .real(let real): try bind(index, real)
        case .text(let text): try bind(index, text)
        }
    }
}
