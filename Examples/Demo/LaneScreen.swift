#if CommandLineTool
/// A terminal: above, the story scrolls by; below, a lane for each conversation is redrawn in place.
struct LaneScreen: Screen {
    private let terminal: Terminal
    private let paint: Paint
    /// The lines that stand below the story at present.
    private var block: [String] = []

    init(_ terminal: Terminal) {
        self.terminal = terminal
        paint = Paint(isOn: terminal.hasColours)
    }

    mutating func show(_ picture: Picture) {
        let size = terminal.size
        // One column is left free: some terminals wrap after the last one.
        let drawing = LaneDrawing(width: size.columns - 1, paint: paint)
        // Rows for the line above, the footer and the cursor. What has scrolled off the top could not be
        // redrawn, so lanes that do not fit are only counted.
        let rows = max(size.rows - 2 - drawing.footerHeight, 1)
        var lanes = picture.lanes.prefix(rows).map(drawing.line)
        let hidden = picture.lanes.count - rows
        if hidden > 0 { lanes[rows - 1] = "… and \(hidden + 1) more".cut(to: size.columns - 1) }
        redraw([""] + lanes + drawing.footer(picture))
    }

    mutating func tell(_ text: String, at time: Duration) {
        let margin = 9
        let lines = text.wrapped(to: min(terminal.size.columns, LaneDrawing.maximumWidth) - 1 - margin)
        let story = lines.enumerated().map { index, line in
            (index == 0 ? time.inSeconds.rightAligned(to: margin - 2) : "").padded(to: margin) + line
        }
        redraw(block, below: story)
    }

    mutating func close(_ lines: [String]) {
        redraw(block + lines)
        Output.write(Terminal.showCursor)
    }

    /// Replaces the block, after `story`, which scrolls away above it.
    ///
    /// Each line is overwritten and then cleared behind its end; clearing first would flicker.
    private mutating func redraw(_ lines: [String], below story: [String] = []) {
        var frame = Terminal.beginFrame
        if !block.isEmpty { frame += Terminal.up(block.count) }
        for line in story + lines { frame += line + Terminal.clearLineBehind + "\n" }
        frame += Terminal.clearScreenBehind + Terminal.endFrame
        Output.write(frame)
        block = lines
    }
}
#endif
