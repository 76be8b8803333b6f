/// Something that a Swift file declares outside the bodies of functions, or a function inside one.
struct Declaration: Equatable, Sendable {
    /// `func`, `struct`, `case` and so on.
    var keyword: String
    /// What follows the keyword: a name, or the first mark of an operator or a parameter list.
    var name: String
    /// Where it starts, attributes and modifiers included.
    var firstLine: Int
    /// Where its keyword stands.
    var keywordLine: Int
    /// Where the brace of its body closes; nil without a body.
    var lastLine: Int?
    /// Whether users of the module see it: written so, or a case of a public enum, or a member of a public
    /// protocol or of a public extension that says nothing else.
    var isPublic: Bool
}

extension Declaration {
    /// What has a body made of statements.
    static let functionKeywords: Set<String> = ["func", "init", "deinit", "subscript", "var"]
    /// What has a body made of declarations.
    static let typeKeywords: Set<String> = ["struct", "class", "enum", "actor", "protocol", "extension"]
    /// What has no body.
    static let otherKeywords: Set<String> = ["let", "case", "typealias", "associatedtype", "macro"]

    /// Lines from the keyword to the closing brace, for what runs.
    var functionLength: Int? {
        guard Self.functionKeywords.contains(keyword), let lastLine else { return nil }
        return lastLine - keywordLine + 1
    }
}
