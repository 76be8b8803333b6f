#if CommandLineTool
internal import CSluiceTerminal

/// The number of terminal columns of a text, from the C library's widths of characters.
enum DisplayWidth {
    /// Returns the columns of a text without control characters.
    static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// Returns the columns of one character, whose parts are drawn in one place.
    ///
    /// An emoji with U+FE0F is wide, and so is a flag, which consists of two letters.
    static func of(_ character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            if scalar.value == 0xFE0F || (0x1F1E6...0x1F1FF).contains(scalar.value) { return 2 }
            width = max(width, of(scalar))
        }
        return width
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x80 { return 1 }
        return max(Int(cterminal_width(scalar.value)), 0)
    }

    /// Returns a text in exactly this many columns: cut with an ellipsis, or filled with spaces.
    static func fit(_ text: String, _ width: Int, isNumber: Bool = false) -> String {
        let cut = cut(text, width)
        let padding = String(repeating: " ", count: max(width - of(cut), 0))
        return isNumber ? padding + cut : cut + padding
    }

    /// Returns a name in exactly this many columns; a long one keeps its end: `conversation/…/42`.
    static func fitMiddle(_ name: String, _ width: Int) -> String {
        fit(cutMiddle(name, width), width)
    }

    /// Returns a name in at most this many columns, with an ellipsis for its middle if it is cut.
    static func cutMiddle(_ name: String, _ width: Int) -> String {
        guard of(name) > width, width > 2 else { return cut(name, width) }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count > 2, let first = parts.first, let last = parts.last {
            let whole = "\(first)/…/\(last)"
            if of(whole) <= width { return whole }
        }
        // The end, which differs most between queues of one prefix, gets the larger half.
        let end = ending(of: name, width / 2)
        var start = ""
        var room = width - 1 - of(end)
        for character in name {
            room -= of(character)
            if room < 0 { break }
            start.append(character)
        }
        return "\(start)…\(end)"
    }

    /// Returns the end of a text in at most this many columns.
    private static func ending(of text: String, _ width: Int) -> String {
        var end: [Character] = []
        var room = width
        for character in text.reversed() {
            room -= of(character)
            if room < 0 { break }
            end.append(character)
        }
        return String(end.reversed())
    }

    /// Returns a text in lines of at most this many columns; one line for an empty text.
    static func wrap(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var used = 0
        for character in text {
            let next = of(character)
            if used + next > max(width, 2) {
                lines.append(line)
                (line, used) = ("", 0)
            }
            line.append(character)
            used += next
        }
        return lines + [line]
    }

    /// Returns a text in lines of at most this many columns, broken between words where that is possible.
    static func wrapWords(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if !line.isEmpty, of(line) + 1 + of(String(word)) <= width {
                line += " \(word)"
                continue
            }
            if !line.isEmpty { lines.append(line) }
            let parts = wrap(String(word), width)
            lines += parts.dropLast()
            line = parts.last ?? ""
        }
        return lines + [line]
    }

    /// Returns a text in lines of a terminal, indented after the first; in one line without a terminal.
    static func paragraph(_ text: String, indent: Int, width: Int? = Terminal.columns) -> [String] {
        guard let width, width >= indent + 20 else { return [text] }
        let lines = wrapWords(text, width - indent)
        let space = String(repeating: " ", count: indent)
        return [lines[0]] + lines.dropFirst().map { space + $0 }
    }

    /// Returns a text in at most this many columns, with an ellipsis if it is cut.
    static func cut(_ text: String, _ width: Int) -> String {
        guard of(text) > width else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = of(character)
            if used + next > width - 1 { break }
            result.append(character)
            used += next
        }
        return width > 0 ? result + "…" : ""
    }
}
#endif
