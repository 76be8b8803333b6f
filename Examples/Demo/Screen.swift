#if CommandLineTool
import Foundation

/// Where the show is seen.
protocol Screen {
    /// Shows how things stand. Called several times a second.
    mutating func show(_ picture: Picture)
    /// Tells a turn in the story.
    mutating func tell(_ text: String, at time: Duration)
    /// Writes lines below everything else; the last call.
    mutating func close(_ lines: [String])
}

/// Standard output, without a buffer: each call is one write, so that no terminal shows half a frame.
enum Output {
    static func write(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}

extension Duration {
    /// As in `3.1 s`.
    var inSeconds: String { String(format: "%.1f s", self / .seconds(1)) }
}

extension String {
    /// Broken between words into lines of at most `width` columns.
    ///
    /// All of the demo's text has one column a character.
    func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        for word in split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    /// Cut to `width` columns, with an ellipsis where something was cut.
    func cut(to width: Int) -> String {
        count <= width ? self : prefix(max(width - 1, 0)) + "…"
    }

    /// Filled up with spaces to `width` columns.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(width - count, 0))
    }

    /// Behind spaces that fill `width` columns.
    func rightAligned(to width: Int) -> String {
        String(repeating: " ", count: max(width - count, 0)) + self
    }
}
#endif
