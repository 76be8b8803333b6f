/// A Swift file, with its code kept apart from its comments and from the text of its strings.
struct SwiftSource: Sendable {
    /// One line in three readings; a reading has spaces where another has its share.
    struct Line: Sendable {
        /// As it stands in the file.
        var text: String
        /// Without comments and without what stands inside string literals; interpolations are code.
        var code: String
        /// Comments alone, with their slashes.
        var comment: String
    }

    /// Relative to the package.
    let path: String
    /// In order; line 1 has index 0.
    let lines: [Line]
    /// All code as tokens.
    let tokens: [Token]
    /// All declarations.
    let declarations: [Declaration]

    init(path: String, text: String) {
        self.path = path
        var lexer = Lexer(text)
        lexer.run()
        let texts = Self.split(Array(text.utf8))
        let codes = Self.split(lexer.code)
        let comments = Self.split(lexer.comments)
        lines = texts.indices.map { Line(text: texts[$0], code: codes[$0], comment: comments[$0]) }
        tokens = Token.tokens(of: lexer.code)
        declarations = DeclarationScanner.declarations(in: tokens)
    }

    /// Lines without the newline; a newline at the very end starts no further line.
    private static func split(_ bytes: [UInt8]) -> [String] {
        var pieces = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if pieces.last?.isEmpty == true { pieces.removeLast() }
        return pieces.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension SwiftSource.Line {
    /// Whether a comment stands here, alone or after code.
    var hasComment: Bool { !comment.allSatisfy(\.isWhitespace) }

    /// Whether nothing but a comment stands here.
    var isComment: Bool { hasComment && code.allSatisfy(\.isWhitespace) }

    /// Whether the line belongs to a documentation comment.
    var isDocumentation: Bool {
        isComment && comment.drop(while: \.isWhitespace).hasPrefix("///")
    }
}
