import TestSupport
import Testing

@Suite("Rows", .watched)
struct RowTests {
    /// A column that is added to a wide row must not change numbers elsewhere.
    @Test("No column of a row is read by a number above 7: wide rows are read in sequence, or by name")
    func columns() {
        expectNone(Repository.swiftSources.filter { $0.path.hasPrefix("Sources/") }.flatMap(Self.violations))
    }

    @Test("A number above 7 is found, others pass")
    func findsNumbers() {
        let text = """
            a = row.int64(7)
            b = $0.optionalText(8)
            c = PlaceKey(row, 12)
            d = columns.text()
            e = words.count(10)
            f = row.count(19)
            """
        let found = Self.violations(SwiftSource(path: "a.swift", text: text)).map(\.line)
        #expect(found == [2, 3, 6])
    }

    private static func violations(_ source: SwiftSource) -> [Violation] {
        // A read of a column by its number, from a row or from `$0`.
        let numbered =
            /(?:(?:row|\$0)\.(?:\w*[iI]nt\d*|count|bool|isNull|\w*[tT]ext|value)\(|Key\((?:row|\$0), )(\d+)\)/
        return source.lines.enumerated().compactMap { index, line in
            guard line.code.utf8.contains(where: { 0x30..<0x3A ~= $0 }) else { return nil }
            let found = line.code.matches(of: numbered)
            guard let column = found.compactMap({ Int($0.output.1) }).first(where: { $0 > 7 }) else {
                return nil
            }
            return Violation(path: source.path, line: index + 1, message: "column \(column) by its number")
        }
    }
}
