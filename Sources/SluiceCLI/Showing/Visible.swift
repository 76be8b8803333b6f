#if CommandLineTool
/// Text as a person may see it: what a terminal would obey instead of showing is escaped.
enum Visible {
    /// Text on one line, with control characters, and those that turn the direction of writing, as `\u{…}`.
    static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnseen) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isUnseen(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// The beginning of a text, visible, with an ellipsis when something is left out.
    static func beginning(of text: String, count: Int) -> String {
        let start = text.prefix(count + 1)
        return self.text(start.count > count ? start.dropLast() + "…" : String(start))
    }

    /// Whether a terminal, or a person's eye, would not show the character as what it is.
    static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        return switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        // Joins the parts of one emoji.
        case .format: scalar.value != 0x200D
        default: false
        }
    }
}
#endif
