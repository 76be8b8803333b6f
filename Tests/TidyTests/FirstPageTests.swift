import Foundation
import TestSupport
import Testing

/// `README.md`, the first page that a newcomer reads.
@Suite("The first page", .watched) struct FirstPageTests {
    private static let sections = [
        "Why Sluice", "An outbox", "Add it", "Try it", "When not to use it", "Transactions with your data",
        "Looking into the file", "The tool", "Testing your handlers", "Several processes", "Performance",
        "Coming from elsewhere",
    ]

    private static func text(of path: String) throws -> String {
        String(decoding: try Repository.current.data(of: path), as: UTF8.self)
    }

    @Test("It has at most 1,200 words, the drawing first, and its sections in a newcomer's order")
    func shape() throws {
        let text = try Self.text(of: "README.md")
        let words = text.split { $0.isWhitespace }.count
        #expect(words <= 1200, "\(words)")
        let parts = text.components(separatedBy: "\n## ")
        let titles = parts.dropFirst().compactMap { $0.split(separator: "\n").first.map(String.init) }
        #expect(titles == Self.sections)
        #expect(parts.first?.contains("Resources/lanes.svg)") == true)
    }

    @Test("Its rates and ratios are those of the results")
    func rates() throws {
        let results = try Self.text(of: "Benchmarks/Results/latest.md").split(separator: "\n")
        let rows = try Self.text(of: "README.md").split(separator: "\n").filter { $0.hasPrefix("| W") }
        #expect(rows.count == 5)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let measured = results.filter { $0.hasPrefix("| \(cells[0]) |") }
            let isThere = measured.contains { line in
                cells.suffix(2).allSatisfy { line.contains("| \($0) |") }
            }
            #expect(isThere, "\(row)")
        }
    }
}
