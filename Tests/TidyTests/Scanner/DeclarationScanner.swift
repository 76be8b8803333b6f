/// Finds the declarations among the tokens of a file by counting braces and parentheses.
///
/// It is no parser. It relies on code that compiles and is formatted, and is misled by braces that only one
/// branch of an `#if` opens.
struct DeclarationScanner {
    private enum Body {
        /// The members of a type, and whether the type itself is public.
        case members(of: String, isPublic: Bool)
        /// Statements.
        case statements
    }

    private struct Scope {
        var body: Body
        /// Parentheses open outside the scope: a declaration stands where no others are.
        var openParentheses: Int
        /// Index of the declaration whose body this is.
        var declaration: Int?
    }

    /// Attributes and modifiers read so far of what may become a declaration.
    private struct Prefix {
        var firstLine: Int
        var access: String?
    }

    private let tokens: [Token]
    private var index = 0
    private var declarations: [Declaration] = []
    private var scopes = [Scope(body: .members(of: "file", isPublic: false), openParentheses: 0)]
    private var openParentheses = 0
    private var prefix: Prefix?
    /// The declaration whose `{` may come next.
    private var awaiting: (declaration: Int, body: Body)?

    /// All declarations, in the order of their keywords.
    static func declarations(in tokens: [Token]) -> [Declaration] {
        var scanner = DeclarationScanner(tokens: tokens)
        while scanner.index < tokens.count { scanner.step() }
        return scanner.declarations
    }

    private init(tokens: [Token]) {
        self.tokens = tokens
    }
}

// MARK: - One token at a time

extension DeclarationScanner {
    private static let accessLevels: Set<String> = [
        "open", "public", "package", "internal", "fileprivate", "private",
    ]
    private static let modifiers: Set<String> = [
        "borrowing", "consuming", "convenience", "distributed", "dynamic", "final", "indirect", "infix",
        "isolated", "lazy", "mutating", "nonisolated", "nonmutating", "optional", "override", "postfix",
        "prefix", "required", "sending", "static", "unowned", "weak",
    ]
    private static let keywords = Declaration.functionKeywords
        .union(Declaration.typeKeywords).union(Declaration.otherKeywords)

    private mutating func step() {
        let token = tokens[index]
        index += 1
        switch token.text {
        case "@": readAttribute(token)
        case "(", "[": change(openParentheses: +1)
        case ")", "]": change(openParentheses: -1)
        case "{": openBrace()
        case "}": closeBrace(token)
        case "=": readEqualSign()
        case _ where isClassModifier(token) || Self.modifiers.contains(token.text): readModifier(token)
        case _ where Self.accessLevels.contains(token.text): readModifier(token)
        case _ where Self.keywords.contains(token.text) && declares(token): declare(token)
        default: prefix = nil
        }
    }

    private mutating func change(openParentheses difference: Int) {
        openParentheses += difference
        prefix = nil
    }

    private mutating func readAttribute(_ token: Token) {
        if prefix == nil { prefix = Prefix(firstLine: token.line) }
        index += 1
        while text(at: index) == "." { index += 2 }
        skipParentheses()
    }

    private mutating func readModifier(_ token: Token) {
        guard text(at: index - 2) != ".", text(at: index - 2) != "," else {
            prefix = nil
            return
        }
        if prefix == nil { prefix = Prefix(firstLine: token.line) }
        let concernsSetter = text(at: index) == "(" && text(at: index + 1) == "set"
        if Self.accessLevels.contains(token.text), !concernsSetter { prefix?.access = token.text }
        skipParentheses()
    }

    /// A stored property with a value has no body; the brace that follows belongs to the value.
    private mutating func readEqualSign() {
        prefix = nil
        guard let awaiting, openParentheses == scope.openParentheses else { return }
        if declarations[awaiting.declaration].keyword == "var" { self.awaiting = nil }
    }

    private mutating func openBrace() {
        let isBody = openParentheses == scope.openParentheses
        let body = isBody ? awaiting : nil
        if isBody { awaiting = nil }
        scopes.append(
            Scope(
                body: body?.body ?? .statements,
                openParentheses: openParentheses,
                declaration: body?.declaration
            )
        )
        prefix = nil
    }

    private mutating func closeBrace(_ token: Token) {
        prefix = nil
        guard scopes.count > 1 else { return }
        let closed = scopes.removeLast()
        openParentheses = closed.openParentheses
        if let declaration = closed.declaration { declarations[declaration].lastLine = token.line }
        if openParentheses == scope.openParentheses { awaiting = nil }
    }
}

// MARK: - Declarations

extension DeclarationScanner {
    /// Whether the keyword just read declares something here, and is no name, label or statement.
    private func declares(_ token: Token) -> Bool {
        guard openParentheses == scope.openParentheses, text(at: index - 2) != "." else { return false }
        guard index < tokens.count else { return false }
        let next = tokens[index]
        let container: String?
        switch scope.body {
        case .members(let keyword, _): container = keyword
        case .statements: container = nil
        }
        switch token.text {
        case "func": return true
        case "case": return container == "enum"
        case "init": return container != nil && ["(", "<", "?", "!"].contains(next.text)
        case "subscript": return container != nil && ["(", "<"].contains(next.text)
        case "deinit": return container != nil && next.text == "{"
        case _ where Declaration.typeKeywords.contains(token.text): return next.isWord
        default: return container != nil && (next.isWord || next.text == "(")
        }
    }

    private mutating func declare(_ token: Token) {
        let access = prefix?.access
        let declaration = Declaration(
            keyword: token.text,
            name: tokens[index].text,
            firstLine: prefix?.firstLine ?? token.line,
            keywordLine: token.line,
            isPublic: isPublic(token.text, access: access)
        )
        prefix = nil
        awaiting = nil
        declarations.append(declaration)
        if Declaration.typeKeywords.contains(token.text) {
            let body = Body.members(of: token.text, isPublic: access == "public" || access == "open")
            awaiting = (declarations.count - 1, body)
        } else if Declaration.functionKeywords.contains(token.text) {
            awaiting = (declarations.count - 1, .statements)
        }
        // The name is no keyword and no modifier, whatever it looks like: `case open`.
        if tokens[index].isWord { index += 1 }
    }

    private func isPublic(_ keyword: String, access: String?) -> Bool {
        guard case .members(let container, let containerIsPublic) = scope.body else { return false }
        if let access { return access == "public" || access == "open" }
        guard containerIsPublic else { return false }
        return ["protocol", "extension"].contains(container) || (container == "enum" && keyword == "case")
    }

    /// `class` before another keyword is a modifier: `class func`.
    private func isClassModifier(_ token: Token) -> Bool {
        token.text == "class" && Self.keywords.contains(text(at: index) ?? "")
    }
}

// MARK: - Looking around

extension DeclarationScanner {
    private var scope: Scope { scopes[scopes.count - 1] }

    private func text(at position: Int) -> String? {
        tokens.indices.contains(position) ? tokens[position].text : nil
    }

    private mutating func skipParentheses() {
        guard text(at: index) == "(" else { return }
        var depth = 0
        repeat {
            if text(at: index) == "(" { depth += 1 }
            if text(at: index) == ")" { depth -= 1 }
            index += 1
        } while depth > 0 && index < tokens.count
    }
}
