/// The types and folders of some sources, read as text.
struct Shape {
    /// A type at the top level of a file, or an extension of one.
    struct TopLevel {
        let source: SwiftSource
        let declaration: Declaration
        let isPrivate: Bool

        var isExtension: Bool { declaration.keyword == "extension" }
        var lineCount: Int { (declaration.lastLine ?? declaration.keywordLine) - declaration.firstLine + 1 }
    }

    let sources: [SwiftSource]
    let types: [TopLevel]

    init(_ sources: [SwiftSource]) {
        self.sources = sources
        types = sources.flatMap { source in
            var end = 0
            return source.declarations.compactMap { declaration -> TopLevel? in
                defer { if declaration.keywordLine > end { end = declaration.lastLine ?? end } }
                guard declaration.keywordLine > end, Declaration.typeKeywords.contains(declaration.keyword)
                else { return nil }
                let code = source.lines[declaration.keywordLine - 1].code
                // As in `import struct Foundation.Date`.
                guard !code.contains("import ") else { return nil }
                let isPrivate = code.contains("private \(declaration.keyword)") || code.hasPrefix("private ")
                return TopLevel(source: source, declaration: declaration, isPrivate: isPrivate)
            }
        }
    }

    /// The folder of a file below a module's folder, with one sub-folder at most; "" for its root.
    static func folder(of path: String, in module: String) -> String {
        let parts = path.dropFirst(module.count).split(separator: "/").dropLast()
        return parts.prefix(2).joined(separator: "/")
    }

    /// Types with more lines than allowed, all their extensions and nested types together.
    func largeTypes(limit: Int, except named: Set<String>) -> [Violation] {
        let groups = Dictionary(grouping: types) { $0.declaration.name }
        return groups.compactMap { name, parts in
            let count = parts.reduce(0) { $0 + $1.lineCount }
            guard count > limit, !named.contains(name), let first = parts.first(where: { !$0.isExtension })
            else { return nil }
            let message = "\(name) has \(count) lines in \(parts.count) parts, \(limit) at most"
            return Violation(path: first.source.path, line: first.declaration.keywordLine, message: message)
        }
    }

    /// Types that others can use in a file that is not named after them.
    func misfiled() -> [Violation] {
        types.compactMap { type in
            guard !type.isExtension, !type.isPrivate else { return nil }
            let path = type.source.path
            let file = path.split(separator: "/").last?.split(separator: ".").first ?? ""
            guard !file.split(separator: "+").contains(Substring(type.declaration.name)) else { return nil }
            let message = "\(type.declaration.name) is in a file of another name"
            return Violation(path: path, line: type.declaration.keywordLine, message: message)
        }
    }

    /// Uses of types from a folder that comes later in a list of layers.
    func upwardUses(in module: String, _ layers: [String]) -> [Violation] {
        let order = Dictionary(layers.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
        var homes: [String: Set<String>] = [:]
        for type in types where !type.isExtension && !type.isPrivate {
            homes[type.declaration.name, default: []].insert(
                Self.folder(of: type.source.path, in: module)
            )
        }
        return sources.flatMap { source -> [Violation] in
            let folder = Self.folder(of: source.path, in: module)
            guard !folder.isEmpty else { return [] }
            guard let rank = order[folder] else {
                return [Violation(path: source.path, line: 1, message: "'\(folder)' is in no layer")]
            }
            var seen: Set<String> = []
            return source.tokens.compactMap { token in
                guard token.isWord, seen.insert(token.text).inserted, let home = homes[token.text],
                    home.count == 1, let used = home.first, let other = order[used], other > rank
                else { return nil }
                let message = "\(token.text) belongs to '\(used)', a layer above '\(folder)'"
                return Violation(path: source.path, line: token.line, message: message)
            }
        }
    }
}
