/// Rows under headings, in aligned columns.
struct Table {
    /// A column: its heading, and whether its values are numbers, which stand to the right.
    struct Column {
        let heading: String
        var isNumber = false
    }

    let columns: [Column]
    private var rows: [[String]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row; what a terminal would obey instead of showing is escaped.
    mutating func add(_ cells: [String]) {
        rows.append(cells.map(Self.visible))
    }

    /// The lines, the headings first.
    var lines: [String] {
        let all = [columns.map(\.heading)] + rows
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = columns.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                return columns[column].isNumber ? padding + row[column] : row[column] + padding
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// Text on one line, with control characters, and those that turn the direction of writing, as `\u{…}`.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnseen) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isUnseen(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// The beginning of a text, visible, with an ellipsis when something is left out.
    static func beginning(of text: String, count: Int) -> String {
        let start = text.prefix(count + 1)
        return visible(start.count > count ? start.dropLast() + "…" : String(start))
    }

    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        // Joins the parts of one emoji.
        case .format: scalar.value != 0x200D
        default: false
        }
    }
}
