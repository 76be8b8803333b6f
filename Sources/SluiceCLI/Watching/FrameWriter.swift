#if CommandLineTool

/// Draws lines on a screen, and redraws only lines that change.
struct FrameWriter {
    private var shown: [String] = []
    private var size = ScreenSize(columns: 0, rows: 0)

    /// Returns the bytes to send to the terminal; `nil` if it shows the frame already.
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
            // Cleared first: after a line that fills the width the cursor is on its last character, which
            // clearing would erase. It does not flicker, as all is shown at the end mark.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K\(line)\u{1B}[0m"
        }
        shown = Array(lines.prefix(size.rows))
        guard !text.isEmpty else { return nil }
        // The terminal shows nothing until the end mark; one that does not know the mark ignores it.
        return "\u{1B}[?2026h\(text)\u{1B}[?2026l"
    }
}
#endif
