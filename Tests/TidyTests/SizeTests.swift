import TestSupport
import Testing

@Suite("Sizes", .watched)
struct SizeTests {
    private static let maximumLinesOfFile = 400
    private static let maximumLinesOfFunction = 60
    private static let maximumColumns = 110

    @Test("No Swift file has more than 400 lines")
    func files() {
        expectNone(Repository.swiftSources.flatMap(Self.longFiles))
    }

    @Test("No function has more than 60 lines")
    func functions() {
        expectNone(Repository.swiftSources.flatMap(Self.longFunctions))
    }

    @Test("No line of Swift has more than 110 columns")
    func lines() {
        expectNone(Repository.swiftSources.flatMap(Self.longLines))
    }

    @Test("No protocol has more than 45 requirements, and no public one more than 12")
    func protocols() {
        #expect(Repository.swiftSources.flatMap(Self.requirements).count > 20)
        expectNone(Repository.swiftSources.flatMap(Self.largeProtocols))
    }

    @Test("A protocol with a requirement too many is reported; what its extension adds is none")
    func findsLargeProtocols() {
        func text(_ access: String, _ count: Int) -> String {
            let members = (0..<count).map { "    func f\($0)()\n" }.joined()
            let more = (0..<50).map { "    func g\($0)() {}\n" }.joined()
            return "\(access) protocol P {\n\(members)}\n\nextension P {\n\(more)}\n"
        }
        func found(_ access: String, _ count: Int) -> [String] {
            Self.largeProtocols(SwiftSource(path: "a.swift", text: text(access, count))).map(\.message)
        }
        #expect(found("package", 45).isEmpty)
        #expect(found("package", 46) == ["protocol P has 46 requirements, 45 at most"])
        #expect(found("public", 12).isEmpty)
        #expect(found("public", 13) == ["protocol P has 13 requirements, 12 at most"])
    }

    @Test("A file of 401 lines is reported, one of 400 is not")
    func findsLongFiles() {
        let line = "let a = 1\n"
        let allowed = SwiftSource(path: "a.swift", text: String(repeating: line, count: 400))
        let refused = SwiftSource(path: "b.swift", text: String(repeating: line, count: 401))
        #expect(Self.longFiles(allowed).isEmpty)
        #expect(Self.longFiles(refused).map(\.message) == ["the file has 401 lines, 400 at most"])
    }

    @Test("A function of 61 lines is reported, one of 60 is not")
    func findsLongFunctions() {
        let body = String(repeating: "    b()\n", count: 58)
        let allowed = SwiftSource(path: "a.swift", text: "func a() {\n\(body)}\n")
        let refused = SwiftSource(path: "b.swift", text: "// b\nfunc b() {\n\(body)\n}\n")
        #expect(Self.longFunctions(allowed).isEmpty)
        let found = Self.longFunctions(refused).map(\.description)
        #expect(found == ["b.swift:2: func b has 61 lines, 60 at most"])
    }

    @Test("A line of 111 columns is reported, one of 110 is not, however many bytes they take")
    func findsLongLines() {
        let text = "//" + String(repeating: "é", count: 108) + "\n//" + String(repeating: "é", count: 109)
        let found = Self.longLines(SwiftSource(path: "a.swift", text: text))
        #expect(found.map(\.description) == ["a.swift:2: the line has 111 columns, 110 at most"])
    }

    private static func requirements(
        _ source: SwiftSource
    ) -> [(face: Declaration, count: Int)] {
        source.declarations.filter { $0.keyword == "protocol" }.map { face in
            let body = (face.keywordLine + 1)...max(face.lastLine ?? 0, face.keywordLine + 1)
            return (
                face,
                source.declarations.count {
                    body.contains($0.keywordLine) && !Declaration.typeKeywords.contains($0.keyword)
                }
            )
        }
    }

    private static func largeProtocols(_ source: SwiftSource) -> [Violation] {
        requirements(source).compactMap { face, count in
            let limit = face.isPublic ? 12 : 45
            guard count > limit else { return nil }
            let message = "protocol \(face.name) has \(count) requirements, \(limit) at most"
            return Violation(path: source.path, line: face.keywordLine, message: message)
        }
    }

    private static func longFiles(_ source: SwiftSource) -> [Violation] {
        let count = source.lines.count
        guard count > maximumLinesOfFile else { return [] }
        let message = "the file has \(count) lines, \(maximumLinesOfFile) at most"
        return [Violation(path: source.path, line: count, message: message)]
    }

    private static func longFunctions(_ source: SwiftSource) -> [Violation] {
        source.declarations.compactMap { declaration in
            guard let length = declaration.functionLength, length > maximumLinesOfFunction else { return nil }
            let subject = "\(declaration.keyword) \(declaration.name)"
            let message = "\(subject) has \(length) lines, \(maximumLinesOfFunction) at most"
            return Violation(path: source.path, line: declaration.keywordLine, message: message)
        }
    }

    private static func longLines(_ source: SwiftSource) -> [Violation] {
        source.lines.enumerated().compactMap { index, line in
            guard line.text.utf8.count > maximumColumns, line.text.count > maximumColumns else { return nil }
            let message = "the line has \(line.text.count) columns, \(maximumColumns) at most"
            return Violation(path: source.path, line: index + 1, message: message)
        }
    }
}
