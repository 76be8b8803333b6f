/// The exact grammar of RFC 8259.
///
/// Foundation's decoder accepts more: a byte order mark, UTF-16, a comma after the last element, a leading
/// zero, control characters in strings. SQLite accepts none of these; text that it does not accept cannot be
/// read with `->>` or edited.
package enum JSONGrammar {
    /// The greatest nesting of arrays and objects, as in Foundation.
    package static let maximumDepth = 512
    /// The depth up to which faults are distinguished, as the stack is limited.
    private static let deepest = 4_096
    /// The mark that some editors put before UTF-8.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Returns whether a text is one JSON value, with arrays and objects nested at most this deep.
    package static func accepts(_ text: String, depth: Int = maximumDepth) -> Bool {
        var text = text
        return text.withUTF8 { text in
            // No token is written.
            withUnsafeTemporaryAllocation(of: Token.self, capacity: 1) { memory in
                guard let bytes = text.baseAddress, let memory = memory.baseAddress else { return false }
                let none = GrowingBuffer<Token>(memory, capacity: 1)
                var parser = TapeParser<Never>(bytes: bytes, end: text.count, depthLimit: depth, tokens: none)
                return parser.parse()
            }
        }
    }

    /// Describes the fault of a text that is not accepted, in a few words.
    package static func fault(of text: String) -> String {
        if text.utf8.starts(with: byteOrderMark) {
            return "is not JSON: it begins with a byte order mark (EF BB BF)"
        }
        if accepts(text, depth: deepest) { return "is nested deeper than \(maximumDepth)" }
        let isText = text.first { !$0.isWhitespace }?.isLetter == true
        return isText ? "is not JSON: text needs quotes, as in \"Ada\"" : "is not JSON"
    }
}
