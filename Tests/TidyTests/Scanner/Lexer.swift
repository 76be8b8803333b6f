/// Splits Swift text into code and comments, and blanks what string literals hold.
///
/// It knows line and nested block comments, plain, raw and multi-line strings, interpolations inside them,
/// back-quoted names and `#/…/#` regular expressions. It takes a bare `/…/` for operators, so such a literal
/// with a quote, a brace or `//` in it would mislead it; write those with `#/`.
struct Lexer {
    private enum Mode {
        /// Inside a file, or inside an interpolation with so many parentheses open.
        case code(openParentheses: Int)
        /// Inside a literal that ends in a quote, or three, and so many number signs.
        case string(hashes: Int, quotes: Int)
    }

    /// As long as the input; spaces where comments and the text of strings were.
    private(set) var code: [UInt8]
    /// As long as the input; spaces everywhere but in comments.
    private(set) var comments: [UInt8]

    private let bytes: [UInt8]
    private var position = 0
    private var modes: [Mode] = [.code(openParentheses: 0)]

    init(_ text: String) {
        bytes = Array(text.utf8)
        code = bytes.map { $0 == UInt8(ascii: "\n") ? $0 : UInt8(ascii: " ") }
        comments = code
    }

    /// Reads all of it.
    mutating func run() {
        while position < bytes.count {
            switch modes[modes.count - 1] {
            case .code(let open): stepInCode(openParentheses: open)
            case .string(let hashes, let quotes): stepInString(hashes: hashes, quotes: quotes)
            }
        }
    }
}

// MARK: - Code

extension Lexer {
    /// What a comment, a literal or a back-quoted name can begin with.
    private static let openers = Array("/#\"`".utf8)

    private mutating func stepInCode(openParentheses: Int) {
        guard Self.openers.contains(bytes[position]) else {
            readCharacter(openParentheses: openParentheses)
            return
        }
        let hashes = count(of: "#", from: position)
        if starts(with: "//") {
            readLineComment()
        } else if starts(with: "/*") {
            readBlockComment()
        } else if byte(at: position + hashes) == UInt8(ascii: "\"") {
            openString(hashes: hashes)
        } else if hashes > 0, byte(at: position + hashes) == UInt8(ascii: "/") {
            skipRegularExpression(hashes: hashes)
        } else if starts(with: "`") {
            readQuotedName()
        } else {
            readCharacter(openParentheses: openParentheses)
        }
    }

    private mutating func readLineComment() {
        while let next = byte(at: position), next != UInt8(ascii: "\n") { keepAsComment() }
    }

    private mutating func readBlockComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                keepAsComment()
            } else if starts(with: "*/") {
                depth -= 1
                keepAsComment()
            }
            keepAsComment()
        } while depth > 0 && position < bytes.count
    }

    private mutating func openString(hashes: Int) {
        position += hashes
        let quotes = starts(with: "\"\"\"") ? 3 : 1
        for _ in 0..<quotes { keepAsCode() }
        modes.append(.string(hashes: hashes, quotes: quotes))
    }

    private mutating func skipRegularExpression(hashes: Int) {
        position += hashes + 1
        while position < bytes.count {
            if starts(with: "\\") {
                position += 2
            } else if starts(with: "/"), count(of: "#", from: position + 1) >= hashes {
                position += 1 + hashes
                return
            } else {
                position += 1
            }
        }
    }

    /// A back-quoted name becomes one word of underscores, whatever stands in it.
    private mutating func readQuotedName() {
        repeat {
            code[position] = UInt8(ascii: "_")
            position += 1
        } while position < bytes.count && !starts(with: "`") && !starts(with: "\n")
        guard starts(with: "`") else { return }
        code[position] = UInt8(ascii: "_")
        position += 1
    }

    private mutating func readCharacter(openParentheses: Int) {
        let next = bytes[position]
        keepAsCode()
        guard modes.count > 1 else { return }
        if next == UInt8(ascii: "(") {
            modes[modes.count - 1] = .code(openParentheses: openParentheses + 1)
        } else if next == UInt8(ascii: ")"), openParentheses > 0 {
            modes[modes.count - 1] = .code(openParentheses: openParentheses - 1)
        } else if next == UInt8(ascii: ")") {
            modes.removeLast()
        }
    }
}

// MARK: - Strings

extension Lexer {
    private mutating func stepInString(hashes: Int, quotes: Int) {
        let closes = count(of: "\"", from: position) >= quotes
        if starts(with: "\\"), count(of: "#", from: position + 1) >= hashes {
            readEscape(hashes: hashes)
        } else if closes, count(of: "#", from: position + quotes) >= hashes {
            for _ in 0..<quotes { keepAsCode() }
            position += hashes
            modes.removeLast()
        } else if quotes == 1, starts(with: "\n") {
            modes.removeLast()  // A literal that never ends: the compiler will say so.
        } else {
            position += 1
        }
    }

    private mutating func readEscape(hashes: Int) {
        position += 1 + hashes
        guard starts(with: "(") else {
            position = min(position + 1, bytes.count)
            return
        }
        keepAsCode()
        modes.append(.code(openParentheses: 0))
    }
}

// MARK: - Bytes

extension Lexer {
    private func byte(at index: Int) -> UInt8? {
        index < bytes.count ? bytes[index] : nil
    }

    private func starts(with text: String) -> Bool {
        bytes[position...].starts(with: text.utf8)
    }

    private func count(of character: Unicode.Scalar, from start: Int) -> Int {
        var end = start
        while byte(at: end) == UInt8(ascii: character) { end += 1 }
        return end - start
    }

    private mutating func keepAsCode() {
        if position < bytes.count { code[position] = bytes[position] }
        position += 1
    }

    private mutating func keepAsComment() {
        if position < bytes.count { comments[position] = bytes[position] }
        position += 1
    }
}
