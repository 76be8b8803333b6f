#if PostgreSQL
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension PostgresRows.Row {
    /// A column of microseconds since 1970 that is never NULL.
    func date(_ column: String) -> Date { (time(column) ?? Timestamp(microseconds: 0)).date }

    /// A column of a JSON array of texts; NULL is none.
    func strings(_ column: String) -> [String] {
        guard let text = self[column] else { return [] }
        // The server has written it.
        guard let values = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
            preconditionFailure("the column '\(column)' is no array of texts")
        }
        return values
    }

    /// The sort key in the columns `sort_type` and `sort_key`.
    var sortKey: SortKey {
        guard let kind = SortKey.Kind(rawValue: text("sort_type")) else { return .arrival }
        return SortKey(orderedBytes: [UInt8](hexadecimal: text("sort_key")), kind) ?? .arrival
    }
}
#endif
