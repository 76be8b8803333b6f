import Foundation

/// The page `SQLReference.md`, which promises tables and views with their columns.
struct SQLReference {
    /// A section of the page.
    struct Table: Sendable, Equatable {
        let name: String
        let columns: [String]
    }

    /// The sections, in their order.
    let tables: [Table]
    /// The first table of the page, which says what each is for.
    let listed: [String]

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let page = root.appendingPathComponent("../../Sources/Sluice/Sluice.docc/SQLReference.md")
        self.init(try String(contentsOf: page, encoding: .utf8))
    }

    init(_ text: String) {
        let parts = text.components(separatedBy: "\n## ").flatMap { $0.components(separatedBy: "\n### ") }
        listed = parts.filter { $0.hasPrefix("Overview") }.flatMap(Self.firstCells)
        tables = parts.filter { $0.hasPrefix("sluice_") }.map { part in
            Table(name: String(part.prefix { $0 != "\n" }), columns: Self.firstCells(part))
        }
    }

    /// What stands in backticks at the start of each row of a table.
    private static func firstCells(_ text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/^\| `(\w+)` \| \S.*\|$/#).map { String($0.1) }
        }
    }
}
