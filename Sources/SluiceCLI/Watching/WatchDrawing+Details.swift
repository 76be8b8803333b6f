#if CommandLineTool
/// Draws the details of a queue.
extension WatchDrawing {
    /// How many lines of details fit on the screen.
    var detailPageSize: Int { max(size.rows - 1, 1) }

    /// The lines of details, as many as there are.
    func lines(of details: WatchDetails) -> [String] {
        let width = min(details.facts.map { DisplayWidth.of($0.name) }.max() ?? 0, size.columns / 3)
        let room = size.columns - width - 2
        return details.facts.flatMap { name, value in
            DisplayWidth.wrap(value, room).enumerated().map { index, line in
                paint(DisplayWidth.fit(index == 0 ? name : "", width), .bold) + "  " + line
            }
        }
    }

    /// The screen with the details that a model shows.
    func screen(of details: WatchDetails, from top: Int) -> [String] {
        var lines = Array(self.lines(of: details).dropFirst(max(top, 0)).prefix(detailPageSize))
        while lines.count < detailPageSize { lines.append("") }
        let keys = "Esc back  ↑↓ scroll  q quit"
        return lines + [paint(DisplayWidth.fit(keys, size.columns), .reversed)]
    }
}
#endif
