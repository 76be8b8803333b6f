#if CommandLineTool
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("The frames of sluice watch", .watched) struct FrameWriterTests {
    /// A terminal that does not wrap lines: after its last column the cursor stays there.
    private struct Terminal {
        let columns: Int
        private(set) var rows: [[Character]]
        private var cursor = (row: 0, column: 0)

        init(columns: Int, rows: Int) {
            self.columns = columns
            self.rows = Array(repeating: Array(repeating: " ", count: columns), count: rows)
        }

        var lines: [String] { rows.map { String($0) } }

        mutating func take(_ text: String) {
            var rest = text[...]
            while let character = rest.popFirst() {
                guard character == "\u{1B}" else {
                    rows[cursor.row][cursor.column] = character
                    cursor.column = min(cursor.column + 1, columns - 1)
                    continue
                }
                rest = rest.dropFirst()
                let numbers = rest.prefix { !$0.isLetter }
                rest = rest.dropFirst(numbers.count)
                switch rest.popFirst() {
                case "H":
                    let place = numbers.split(separator: ";").compactMap { Int($0) }
                    cursor = (place[0] - 1, place[1] - 1)
                case "J": rows = rows.map { $0.map { _ in " " } }
                case "K": for column in cursor.column..<columns { rows[cursor.row][column] = " " }
                default: break
                }
            }
        }
    }

    @Test("A line that fills the width is shown to its last character, whatever was there before")
    func fullWidth() throws {
        let size = ScreenSize(columns: 10, rows: 3)
        var (frame, terminal) = (FrameWriter(), Terminal(columns: 10, rows: 3))
        for lines in [
            ["0123456789", "short", "a cut tex…"], ["short", "9876543210", "a cut tex…"],
            ["012345678…", "", "tiny"], ["", "\u{1B}[1m0123456789\u{1B}[0m", "a cut tex…"],
        ] {
            let update = frame.update(lines, size)
            terminal.take(try #require(update))
            let plain = lines.map { $0.replacing("\u{1B}[1m", with: "").replacing("\u{1B}[0m", with: "") }
            #expect(terminal.lines == plain.map { $0.padding(10) })
        }
    }
}

extension String {
    fileprivate func padding(_ count: Int) -> String {
        self + String(repeating: " ", count: max(count - self.count, 0))
    }
}
#endif
