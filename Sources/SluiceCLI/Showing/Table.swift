#if CommandLineTool
/// Rows under headings, in aligned columns.
struct Table {
    /// A column: its heading, and whether its values are numbers, which are right-aligned.
    struct Column {
        let heading: String
        var isNumber = false
    }

    let columns: [Column]
    private var rows: [(cells: [String], styles: [Int: Paint.Style])] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row; control characters are escaped.
    ///
    /// - Parameter styles: By the index of the cell.
    mutating func add(_ cells: [String], styles: [Int: Paint.Style] = [:]) {
        rows.append((cells.map(Visible.text), styles))
    }

    /// Returns the lines, the headings first.
    func lines(_ paint: Paint = Paint(isOn: false)) -> [String] {
        let headings = columns.indices.map { ($0, Paint.Style.bold) }
        let all = [(columns.map(\.heading), Dictionary(uniqueKeysWithValues: headings))] + rows
        let widths = columns.indices.map { column in all.map { DisplayWidth.of($0.0[column]) }.max() ?? 0 }
        return all.map { row, styles in
            let last = columns.indices.last { !row[$0].isEmpty } ?? 0
            let cells = columns.indices.prefix(through: last).map { column in
                let padding = String(repeating: " ", count: widths[column] - DisplayWidth.of(row[column]))
                let cell = paint(row[column], styles[column])
                if columns[column].isNumber { return padding + cell }
                return column == last ? cell : cell + padding
            }
            return cells.joined(separator: "  ")
        }
    }
}
#endif
