#if CommandLineTool
internal import CSluiceTerminal

/// How many columns of a terminal a text takes: the C library knows it of each character.
enum DisplayWidth {
    /// Columns of a text without control characters.
    static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// Columns of one character as a reader counts them: its parts are drawn in one place.
    ///
    /// An emoji that is asked for by U+FE0F is wide, as is a flag, which is made of two letters.
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

    /// A text in so many columns, neither more nor fewer: cut with an ellipsis, or filled with spaces.
    static func fit(_ text: String, _ width: Int, isNumber: Bool = false) -> String {
        let cut = cut(text, width)
        let padding = String(repeating: " ", count: max(width - of(cut), 0))
        return isNumber ? padding + cut : cut + padding
    }

    /// A text in at most so many columns, with an ellipsis where something is left out.
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
