#if Web
/// Text of a page; interpolated values are escaped, unless they are HTML themselves.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ html: HTML) { text += html.text }
        mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { text += part.text } }
        mutating func appendInterpolation(_ html: HTML?) { if let html { text += html.text } }
        mutating func appendInterpolation(_ value: some StringProtocol) {
            HTML.escape(value, into: &text)
        }
        /// A value that a form sends back: every character stays as it is.
        mutating func appendInterpolation(exact value: some StringProtocol) {
            HTML.escape(value, isExact: true, into: &text)
        }
        mutating func appendInterpolation(_ number: some BinaryInteger) { text += String(number) }
    }

    /// The HTML as it is sent.
    let text: String

    init(stringLiteral value: String) { text = value }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// Appends text that a browser shows as it is.
    ///
    /// Control characters and marks of direction are shown by their numbers: with them, one name could look
    /// like another.
    ///
    /// - Parameter isExact: Whether a form sends the text back, so that no character may change.
    static func escape(_ value: some StringProtocol, isExact: Bool = false, into text: inout String) {
        for scalar in value.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            // A browser would make other line breaks of them.
            case "\n" where isExact, "\r" where isExact, "\t" where isExact: text += "&#\(scalar.value);"
            case "\n", "\t": text.unicodeScalars.append(scalar)
            case _ where !isExact && isHidden(scalar): text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0xAD, 0x61C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }
}
#endif
