import Foundation
import TestSupport
import Testing

/// The page on performance, which quotes measurements.
@Suite("The page on performance", .watched) struct PerformancePageTests {
    @Test("Its numbers of each workload are among the results of that workload")
    func numbers() throws {
        let page = try Self.text(of: "Sources/Sluice/Sluice.docc/Performance.md").split(separator: "\n")
        let results = try Self.text(of: "Benchmarks/Results/latest.md").split(separator: "\n")
        let rows = page.filter { $0.hasPrefix("| W") }
        #expect(rows.count == 12)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let workload = try #require(cells.first)
            let measured = results.filter { $0.hasPrefix("| \(workload) |") }
            let known = Set(measured.flatMap { Self.numbers(in: String($0)) })
            let quoted = Self.numbers(in: try #require(cells.last))
            #expect(quoted.count >= 3, "\(row)")
            #expect(known.isSuperset(of: quoted), "\(row)")
        }
    }

    private static func numbers(in text: String) -> [String] {
        text.matches(of: #/\d[\d,]*(?:\.\d+)?/#).map { String($0.output) }
    }

    private static func text(of path: String) throws -> String {
        String(decoding: try Repository.current.data(of: path), as: UTF8.self)
    }
}
