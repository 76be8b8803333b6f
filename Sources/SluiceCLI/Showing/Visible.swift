#if CommandLineTool
/// Text for display: control characters are escaped.
enum Visible {
    /// Returns text on one line, with control and bidirectional characters as `\u{…}`.
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

    /// Returns the visible beginning of a text, with an ellipsis if it is cut.
    static func beginning(of text: String, count: Int) -> String {
        let start = text.prefix(count + 1)
        return self.text(start.count > count ? start.dropLast() + "…" : String(start))
    }

    /// Returns whether a terminal, or a reader, would not see the character as it is.
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
