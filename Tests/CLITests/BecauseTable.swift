#if CommandLineTool
import Foundation
import Testing

/// The table in `Operating.md` of all reasons why a queue does not move.
struct BecauseTable {
    struct Row {
        /// The case of `Because`.
        let name: String
        /// What stands in `sluice_queues`, as in `state: because`.
        let sql: [String]
        /// What the tool prints.
        let tool: [String]
        let advice: String
        /// As in `BecauseTests.parked`.
        let tests: [String]
    }

    let rows: [Row]

    init() throws {
        let page = try Self.text(of: "Sources/Sluice/Sluice.docc/Operating.md")
        rows = try page.split(separator: "\n").filter { $0.hasPrefix("| ``Because/") }.map { line in
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            try #require(cells.count == 5, "\(line)")
            // Behind the semicolon stands where else to look.
            let states = Self.words(cells[1].components(separatedBy: "; ")[0])
            return Row(
                name: try String(#require(cells[0].firstMatch(of: #/^``Because\/(\w+)/#)).1),
                sql: states.dropFirst().map { "\(states[0]): \($0)" },
                tool: Self.words(cells[2]),
                advice: cells[3],
                tests: Self.words(cells[4])
            )
        }
    }

    /// What stands between backticks.
    private static func words(_ cell: String) -> [String] {
        cell.matches(of: #/`([^`]+)`/#).map { String($0.1) }
    }

    /// The first of the texts of a table that a text is; words in capitals stand for what differs.
    static func pattern(of text: String, among patterns: [String]) throws -> String? {
        try patterns.first { pattern in
            let escaped = NSRegularExpression.escapedPattern(for: pattern)
            let expression = blanks.reduce(escaped) { $0.replacing($1.key, with: $1.value) }
            return try Regex(expression).wholeMatch(in: text) != nil
        }
    }

    private static let blanks: KeyValuePairs = [
        "TIME": #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"#, "PID": #"\d+"#, "NUMBER": #"[1-9]\d*"#,
        "CAUSE": "[a-z]+", "HOLDER": ".+", "REASON": ".+", "GATE": ".+", "ERROR": ".+",
    ]

    /// The text of a file of this package.
    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The Swift files of this package's tests.
    static func testFiles() throws -> [URL] {
        let folder = root.appendingPathComponent("Tests")
        let found = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return found.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
}
#endif
