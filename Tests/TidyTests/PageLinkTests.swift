import Foundation
import TestSupport
import Testing

/// The links between pages, which readers follow in a file viewer and in the documentation.
@Suite("Links between pages", .watched) struct PageLinkTests {
    @Test("Every relative link of a page leads to a file, and none is in the form of DocC alone")
    func links() throws {
        let repository = Repository.current
        let files = Set(repository.files)
        var count = 0
        for page in repository.files where page.hasSuffix(".md") {
            let text = String(decoding: try repository.data(of: page), as: UTF8.self)
            let (found, violations) = Self.check(text, page) { path in
                files.contains(path) || files.contains { $0.hasPrefix(path + "/") }
            }
            count += found
            expectNone(violations)
        }
        #expect(count > 200)
    }

    @Test("A page that uses a word of the engine leads to the glossary")
    func glossary() throws {
        let repository = Repository.current
        var count = 0
        for page in repository.files
        where page.contains(".docc/") && page.hasSuffix(".md") {
            let text = String(decoding: try repository.data(of: page), as: UTF8.self)
            guard Self.usesWord(text), !page.hasSuffix("/Glossary.md") else { continue }
            count += 1
            #expect(text.contains("Glossary.md)"), "\(page) has no link to the glossary")
        }
        #expect(count > 30)
        #expect(Self.usesWord("Each has a lease.") && !Self.usesWord("The view `sluice_claims` has `lease`."))
    }

    /// Whether a page has a word that readers meet here alone, outside of code.
    private static func usesWord(_ text: String) -> Bool {
        text.replacing(/(?s)```.*?```|`[^`]*`/, with: "")
            .contains(/\b(permit|claim|lease|slot|suspect|trial|gate|settle|checkpoint|parked)s?\b/)
    }

    @Test("A link that leads nowhere, and one of DocC's, are found")
    func findsBroken() {
        let text = """
            See [a](A.md), [b](../B.md#part), [c](Missing.md), [web](https://example.org/x.md) and <doc:A>.
            ```
            [no link](in/code.md)
            ```
            """
        let (_, violations) = Self.check(text, "folder/page.md") { ["folder/A.md", "B.md"].contains($0) }
        #expect(
            violations.map(\.message) == [
                "leads to folder/Missing.md, which is not there",
                "a link of DocC, which a file viewer does not follow",
            ]
        )
    }

    /// Returns how many relative links a page has, and those that are wrong.
    private static func check(
        _ text: String,
        _ page: String,
        _ exists: (String) -> Bool
    ) -> (count: Int, [Violation]) {
        var (count, violations, isCode): (Int, [Violation], Bool) = (0, [], false)
        let folder = page.split(separator: "/").dropLast()
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") { isCode.toggle() }
            if isCode { continue }
            for match in line.matches(of: /\]\(([^)\s]+)\)/) {
                let target = match.1.prefix { $0 != "#" }
                if target.isEmpty || target.contains(":") { continue }
                count += 1
                var parts = folder
                for part in target.split(separator: "/") where part != "." {
                    if part == ".." { parts = parts.dropLast() } else { parts.append(part) }
                }
                let path = parts.joined(separator: "/")
                guard !exists(path) else { continue }
                violations.append(
                    Violation(path: page, line: index + 1, message: "leads to \(path), which is not there")
                )
            }
            if line.contains("<doc:") {
                let message = "a link of DocC, which a file viewer does not follow"
                violations.append(Violation(path: page, line: index + 1, message: message))
            }
        }
        return (count, violations)
    }
}
