#if CommandLineTool
/// Rows under headings, in aligned columns.
struct Table {
    /// A column: its heading, and whether its values are numbers, which are right-aligned.
    struct Column {
        let heading: String
        var isNumber = false
        var cut: Cut?
    }

    /// What a narrow terminal leaves out of a value.
    enum Cut {
        /// A long name keeps its end.
        case middle
        /// The last column takes the room that the others leave.
        case end
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
    ///
    /// - Parameter width: The columns of the terminal; `nil` cuts nothing.
    func lines(_ paint: Paint = Paint(isOn: false), width: Int? = Terminal.columns) -> [String] {
        let headings = columns.indices.map { ($0, Paint.Style.bold) }
        var all: [(cells: [String], styles: [Int: Paint.Style])] =
            [(columns.map(\.heading), Dictionary(uniqueKeysWithValues: headings))] + rows
        if let width { all = all.map { (fit($0.0, .middle, max(width / 4, 8)), $0.1) } }
        let widths = columns.indices.map { column in all.map { DisplayWidth.of($0.0[column]) }.max() ?? 0 }
        if let width {
            let others = widths.dropLast().reduce(0) { $0 + $1 + 2 }
            all = all.map { (fit($0.0, .end, max(width - others, 20)), $0.1) }
        }
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

    private func fit(_ row: [String], _ cut: Cut, _ width: Int) -> [String] {
        zip(columns, row).map { column, cell in
            guard column.cut == cut else { return cell }
            return cut == .middle ? DisplayWidth.cutMiddle(cell, width) : DisplayWidth.cut(cell, width)
        }
    }
}
#endif
