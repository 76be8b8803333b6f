#if CommandLineTool
/// Draws lines on a screen, and of a further frame only the lines that are others.
struct FrameWriter {
    private var shown: [String] = []
    private var size = ScreenSize(columns: 0, rows: 0)

    /// What a terminal must be sent; `nil` if it shows the frame already.
    mutating func update(_ lines: [String], _ size: ScreenSize) -> String? {
        var text = ""
        if size != self.size {
            self.size = size
            shown = []
            text = "\u{1B}[2J"
        }
        for row in 0..<size.rows {
            let line = row < lines.count ? lines[row] : ""
            if row < shown.count ? line == shown[row] : line.isEmpty { continue }
            // Overwritten, then cleared behind its end: clearing first would flicker.
            text += "\u{1B}[\(row + 1);1H\(line)\u{1B}[0m\u{1B}[K"
        }
        shown = Array(lines.prefix(size.rows))
        guard !text.isEmpty else { return nil }
        // Asks the terminal to show nothing until all is there; one that does not know it ignores it.
        return "\u{1B}[?2026h\(text)\u{1B}[?2026l"
    }
}
#endif
