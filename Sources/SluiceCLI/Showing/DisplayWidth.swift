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
