#if CommandLineTool
import Foundation
import Testing

/// The sections of `Operating.md` on all reasons why a queue does not move.
struct BecauseTable {
    struct Row {
        /// The case of `WaitReason`.
        let name: String
        /// What stands in `sluice_queues`, as in `state: because`.
        let sql: [String]
        /// What the tool prints: the same, if the section does not say otherwise.
        let tool: [String]
        let meaning: String
        let advice: String
        /// As in `BecauseTests.parked`.
        let tests: [String]
    }

    let rows: [Row]

    init() throws {
        let page = try Self.text(of: "Sources/Sluice/Sluice.docc/Operating.md")
        rows = try page.components(separatedBy: "\n### ").filter { $0.contains("\n- Library: ``WaitReason/") }
            .map(Self.row)
    }

    /// A section has a list, what the reason means, what to do, and its tests.
    private static func row(_ section: String) throws -> Row {
        let parts = section.split(separator: "\n\n").map(String.init)
        try #require(parts.count >= 5, "\(section)")
        // A long line of the list goes on in the next, which is indented.
        let list = parts[1].replacing("\n  ", with: " ").split(separator: "\n")
        func line(_ word: String) -> String? {
            list.first { $0.hasPrefix("- \(word): ") }.map(String.init)
        }
        let states = words(try #require(line("SQL"), "\(section)"))
        let texts = Array(states.dropFirst())
        let library = try #require(line("Library"), "\(section)")
        let isAdvice = { (part: String) in part.hasPrefix("**What to do.** ") }
        let isTest = { (part: String) in part.hasPrefix("*Test:* ") }
        return Row(
            name: try String(#require(library.firstMatch(of: #/``WaitReason\/(\w+)/#)).1),
            sql: texts.map { "\(states[0]): \($0)" },
            tool: line("Tool").map(words) ?? texts,
            meaning: parts[2],
            advice: try #require(parts.first(where: isAdvice), "\(section)"),
            tests: words(try #require(parts.first(where: isTest), "\(section)"))
        )
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
