import Foundation
import TestSupport
import Testing

/// The page that says of each error what has happened and what to do.
@Suite("The page on errors", .watched) struct ErrorPageTests {
    private static let page = "Sources/Sluice/Sluice.docc/Errors.md"
    private static let source = "Sources/Sluice/SluiceError.swift"

    @Test("Every code of the library's error has one row, with a cause and what to do, and no row has none")
    func rows() throws {
        let text = String(decoding: try Repository.current.data(of: Self.page), as: UTF8.self)
        let source = String(decoding: try Repository.current.data(of: Self.source), as: UTF8.self)
        let codes = Self.codes(in: source)
        #expect(codes.count >= 50)
        let rows = Self.rows(in: text)
        #expect(rows.map(\.code).sorted() == codes.sorted())
        for row in rows {
            #expect(row.cells.count == 3, "\(row.code)")
            #expect(row.cells.allSatisfy { $0.count > 10 }, "\(row.code): \(row.cells)")
        }
    }

    @Test("A code without a row is found")
    func findsMissing() {
        let codes = Self.codes(
            in: """
                        public static let one = Code(.one)
                        public static let two = Code(.two)
                    public let three: Int
                """
        )
        let rows = Self.rows(
            in: "| code | a | b |\n| --- | --- | --- |\n| ``SluiceError/Code/one`` | a | b |\n"
        )
        #expect(codes == ["one", "two"])
        #expect(rows.map(\.code) == ["one"])
    }

    private static func codes(in source: String) -> [String] {
        source.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.starts(with: ["public", "static", "let"]), words.count == 6 || words.count == 5,
                line.contains("= Code(")
            else { return nil }
            return String(words[3])
        }
    }

    private static func rows(in text: String) -> [(code: String, cells: [String])] {
        let prefix = "| ``SluiceError/Code/"
        return text.split(separator: "\n").compactMap { line in
            guard line.hasPrefix(prefix) else { return nil }
            let code = line.dropFirst(prefix.count).prefix { $0 != "`" }
            let cells = line.dropFirst().dropLast().split(separator: " | ").map(String.init)
            return (String(code), cells)
        }
    }
}
