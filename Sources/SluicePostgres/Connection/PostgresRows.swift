#if PostgreSQL
/// The rows of an answer.
package struct PostgresRows: Sendable, RandomAccessCollection {
    package struct Row: Sendable {
        fileprivate let columns: [String: Int]
        fileprivate let values: [String?]

        /// The text of a column; `nil` is NULL.
        package subscript(_ column: String) -> String? {
            guard let index = columns[column] else { preconditionFailure("no column '\(column)'") }
            return values[index]
        }

        func text(_ column: String) -> String { self[column] ?? "" }
        func integer(_ column: String) -> Int64? { self[column].flatMap { Int64($0) } }
        func flag(_ column: String) -> Bool { self[column] == "t" }
    }

    private let columns: [String: Int]
    private let rows: [[String?]]

    package init(columns: [String], rows: [[String?]]) {
        self.columns = Dictionary(uniqueKeysWithValues: columns.enumerated().map { ($1, $0) })
        self.rows = rows
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { rows.count }
    package subscript(_ index: Int) -> Row { Row(columns: columns, values: rows[index]) }
}
#endif
