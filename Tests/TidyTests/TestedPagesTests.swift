import Foundation
import TestSupport
import Testing

/// The pages that name a test for everything that the designs we follow can do, and for every guarantee.
@Suite("Pages that name tests", .watched) struct TestedPagesTests {
    @Test(
        "Every row of a page that names tests names some, and each of them exists",
        // A table for each source at least; guarantees and what is done to them; threats.
        arguments: [("Designs.md", 3), ("HowItIsTested.md", 2), ("Security.md", 1)]
    )
    func rows(_ name: String, _ tables: Int) throws {
        let page = "Sources/Sluice/Sluice.docc/" + name
        let text = String(decoding: try Repository.current.data(of: page), as: UTF8.self)
        let tests = Self.tests(of: Repository.swiftSources(below: ["Tests/"]))
        expectNone(Self.violations(text, page, tests))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("| ---") } >= tables)
    }

    @Test("A row without a test, and one whose test is not there, are found")
    func findsMissing() {
        let text = """
            | what | here | tests |
            | --- | --- | --- |
            | a | b | `ATests.one` |
            | a | `b` |  |
            | a | b | `ATests.two`, `BTests.one` |
            | a | b | `ATests.help` |
            """
        let source = SwiftSource(
            path: "a.swift",
            text: "struct ATests {\n    @Test func one() {}\n    func help() {}\n}\nstruct BTests {}\n"
        )
        let found = Self.violations(text, "page.md", Self.tests(of: [source]))
        #expect(
            found.map(\.message) == [
                "the row names no test", "there is no test ATests.two", "there is no test BTests.one",
                "there is no test ATests.help",
            ]
        )
    }

    /// Of each test function, its suite's name, a dot, and its own; and the names of the suites.
    private static func tests(of sources: [SwiftSource]) -> Set<String> {
        var found: Set<String> = []
        for source in sources {
            var suite = ""
            var isTest = false
            for line in source.lines {
                let words = line.code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
                // A suite stands at the margin; what stands in it does not.
                if let index = words.firstIndex(where: {
                    ["struct", "class", "enum", "extension"].contains($0)
                }),
                    index + 1 < words.count, line.code.first?.isWhitespace == false
                {
                    suite = words[index + 1]
                }
                if line.code.contains("@Test") { isTest = true }
                if let index = words.firstIndex(of: "func"), index + 1 < words.count {
                    if isTest { found.formUnion([suite, "\(suite).\(words[index + 1])"]) }
                    isTest = false
                }
            }
        }
        return found
    }

    private static func violations(_ text: String, _ page: String, _ tests: Set<String>) -> [Violation] {
        var violations: [Violation] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.hasPrefix("|") && !line.hasPrefix("| ---") {
            // The line behind a table's head is its rule.
            if index + 1 < lines.count, lines[index + 1].hasPrefix("| ---") { continue }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let parts = (cells.last ?? "").split(separator: "`", omittingEmptySubsequences: false)
            let named = parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
            if named.isEmpty || cells.count < 3 {
                violations.append(
                    Violation(path: page, line: index + 1, message: "the row names no test")
                )
            } else {
                for name in named where !tests.contains(name) {
                    violations.append(
                        Violation(path: page, line: index + 1, message: "there is no test \(name)")
                    )
                }
            }
        }
        return violations
    }
}
