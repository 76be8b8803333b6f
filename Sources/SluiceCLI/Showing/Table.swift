#if CommandLineTool
/// Rows under headings, in aligned columns.
struct Table {
    /// A column: its heading, and whether its values are numbers, which are right-aligned.
    struct Column {
        let heading: String
        var isNumber = false
        var cut: Cut?
        /// Whether its values have times, which a terminal shows to the second.
        var hasTimes = false
        /// Whether a terminal leaves it out if the last column needs its room.
        var isExtra = false
    }

    /// What a narrow terminal leaves out of a value.
    enum Cut {
        /// A long name keeps its end.
        case middle
        /// The last column takes the room that the others leave, and extra columns only what it leaves.
        case end
        /// Nothing: the last column goes on in lines of its own.
        case wrapped
    }

    private(set) var columns: [Column]
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
        if let width, let narrower = narrower(width) { return narrower.lines(paint, width: width) }
        let headings = columns.indices.map { ($0, Paint.Style.bold) }
        let all: [(cells: [String], styles: [Int: Paint.Style])] =
            [(columns.map(\.heading), Dictionary(uniqueKeysWithValues: headings))]
            + (width == nil ? rows : rows.map { (toSecond($0.cells), $0.styles) })
        let cells = width.map { fit(all.map(\.cells), $0) } ?? all.map(\.cells)
        let widths = self.widths(of: cells)
        return zip(cells, all).flatMap { row, entry in
            guard let width, columns.last?.cut == .wrapped, let end = row.last, !end.isEmpty else {
                return [line(row, entry.styles, widths, paint, width)]
            }
            let others = widths.dropLast().reduce(0) { $0 + $1 + 2 }
            guard width - others < min(Self.leastWrapped, DisplayWidth.of(end)) else {
                let parts = DisplayWidth.wrapWords(end, width - others)
                let indent = String(repeating: " ", count: others)
                return [line(Array(row.dropLast()) + [parts[0]], entry.styles, widths, paint, width)]
                    + parts.dropFirst().map { indent + $0 }
            }
            return [line(Array(row.dropLast()) + [""], entry.styles, widths, paint, width)]
                + DisplayWidth.wrapWords(end, width - 4).map { "    " + $0 }
        }
    }

    private func line(
        _ row: [String],
        _ styles: [Int: Paint.Style],
        _ widths: [Int],
        _ paint: Paint,
        _ width: Int?
    ) -> String {
        let last = columns.indices.last { !row[$0].isEmpty } ?? 0
        // The columns left in the terminal's line: no line is continued on the next.
        var room = width ?? .max
        var line = ""
        for column in columns.indices.prefix(through: last) where room > 0 {
            let text = DisplayWidth.of(row[column]) > room ? DisplayWidth.cut(row[column], room) : row[column]
            let padding = String(
                repeating: " ",
                count: max(min(widths[column], room) - DisplayWidth.of(text), 0)
            )
            let cell = paint(text, styles[column])
            if columns[column].isNumber { line += padding + cell } else { line += cell }
            if column == last { break }
            if !columns[column].isNumber { line += padding }
            if room > widths[column] + 2 { line += "  " }
            room -= widths[column] + 2
        }
        return line
    }

    /// Returns the table without the extra column that is missed least, if the last one needs its room.
    private func narrower(_ width: Int) -> Table? {
        let natural = widths(of: [columns.map(\.heading)] + rows.map { toSecond($0.cells) })
        let room = room(besideNamesOf: Self.usualName, natural, width)
        let end = natural.last ?? 0
        guard room < (columns.last?.cut == .end ? end : min(end, Self.leastEnd)) else { return nil }
        let extra = columns.indices.filter { columns[$0].isExtra }
        let isEmpty = { (column: Int) in rows.allSatisfy { $0.cells[column].isEmpty } }
        guard let column = extra.first(where: isEmpty) ?? extra.last else { return nil }
        var table = self
        table.columns.remove(at: column)
        table.rows = rows.map { row in
            var row = row
            row.cells.remove(at: column)
            let styles = row.styles.filter { $0.key != column }.map { ($0 < column ? $0 : $0 - 1, $1) }
            row.styles = Dictionary(uniqueKeysWithValues: styles)
            return row
        }
        return table
    }

    private func toSecond(_ cells: [String]) -> [String] {
        zip(columns, cells).map { $0.hasTimes ? Times.toSecond($1) : $1 }
    }

    private func widths(of rows: [[String]]) -> [Int] {
        columns.indices.map { column in rows.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
    }

    /// Cuts long values, names first and no more than is needed, so that the last column has room.
    private func fit(_ rows: [[String]], _ width: Int) -> [[String]] {
        let natural = widths(of: rows)
        let whole = columns.last?.cut == .wrapped ? 0 : natural.last ?? 0
        let hasRoom = room(besideNamesOf: Self.usualName, natural, width) >= whole
        let end = hasRoom ? whole : min(whole, Self.leastEnd)
        var (least, most) = (Self.leastName, max(natural.dropLast().max() ?? 0, Self.leastName))
        // The widest names that leave that room.
        while least < most {
            let middle = (least + most + 1) / 2
            if room(besideNamesOf: middle, natural, width) >= end {
                least = middle
            } else {
                most = middle - 1
            }
        }
        let cut = rows.map { fit($0, .middle, least) }
        let others = widths(of: cut).dropLast().reduce(0) { $0 + $1 + 2 }
        return cut.map { fit($0, .end, max(width - others, 1)) }
    }

    /// The room of the last column if names have at most so many columns.
    private func room(besideNamesOf name: Int, _ natural: [Int], _ width: Int) -> Int {
        zip(columns, natural).dropLast().reduce(width) { room, entry in
            room - (entry.0.cut == .middle ? min(entry.1, name) : entry.1) - 2
        }
    }

    private static let leastName = 8
    /// The columns of a name that is still known, for which extra columns are left out.
    private static let usualName = 20

    /// The room that the last column should have.
    private static let leastEnd = 32
    /// With less room, the last column goes on under its row.
    private static let leastWrapped = 20

    private func fit(_ row: [String], _ cut: Cut, _ width: Int) -> [String] {
        zip(columns, row).map { column, cell in
            guard column.cut == cut else { return cell }
            return cut == .middle ? DisplayWidth.cutMiddle(cell, width) : DisplayWidth.cut(cell, width)
        }
    }
}
#endif
