/// A word or one punctuation mark of a file's code.
struct Token: Equatable, Sendable {
    /// Words whole; punctuation one character at a time.
    var text: String
    /// From 1.
    var line: Int

    /// Whether this is a name, a keyword or a number.
    var isWord: Bool { text.utf8.first.map(Token.isPartOfWord) ?? false }

    /// Splits code that a `Lexer` has cleared of comments and strings.
    static func tokens(of code: [UInt8]) -> [Token] {
        var tokens: [Token] = []
        var line = 1
        var index = 0
        while index < code.count {
            let start = index
            while index < code.count, isPartOfWord(code[index]) { index += 1 }
            if index > start {
                tokens.append(Token(text: String(decoding: code[start..<index], as: UTF8.self), line: line))
                continue
            }
            let byte = code[index]
            index += 1
            if byte == UInt8(ascii: "\n") {
                line += 1
            } else if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t"), byte != UInt8(ascii: "\r") {
                tokens.append(Token(text: String(decoding: [byte], as: UTF8.self), line: line))
            }
        }
        return tokens
    }

    /// Letters, digits, `_`, and every byte of a character beyond ASCII.
    static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...: true
        default: false
        }
    }
}
