#if CommandLineTool
import Foundation

/// The terminal on standard output, and the few sequences that the demo sends it (ECMA-48).
struct Terminal {
    static let showCursor = "\u{1B}[?25h"
    static let clearLineBehind = "\u{1B}[K"
    static let clearScreenBehind = "\u{1B}[J"
    /// Hides the cursor, and asks the terminal to show nothing until the frame is complete; one that does not
    /// know the second ignores it.
    static let beginFrame = "\u{1B}[?25l\u{1B}[?2026h"
    static let endFrame = "\u{1B}[?2026l"

    /// To the first column, `rows` above.
    static func up(_ rows: Int) -> String { "\u{1B}[\(rows)A\r" }

    let hasColours: Bool

    /// `nil` if standard output is none, or one that cannot move its cursor.
    init?(environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard isatty(STDOUT_FILENO) == 1, let kind = environment["TERM"], kind != "dumb" else { return nil }
        // https://no-color.org: present and not empty, whatever its value.
        hasColours = environment["NO_COLOR", default: ""].isEmpty
    }

    /// Asked anew for each frame, since windows are resized.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
#endif
