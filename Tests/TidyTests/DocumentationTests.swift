import Foundation
import TestSupport
import Testing

@Suite("Documentation", .watched)
struct DocumentationTests {
    @Test("Every public declaration of the libraries has a documentation comment")
    func publicDeclarations() {
        let sources = Repository.swiftSources(below: Repository.publicLibraries)
        expectNone(sources.flatMap(Self.undocumented))
    }

    @Test("A public declaration without a documentation comment is found")
    func findsUndocumented() {
        let text = """
            public struct A {
                /// Documented.
                @inlinable
                public func b() {}
                // Only a remark.
                public var c: Int { 1 }
                /// Documented.
                // And a remark.
                public init() {}
                func notPublic() {}
                /// Documented.
                #if hasAttribute(nonexhaustive)
                @nonexhaustive
                #endif
                public enum D {}
                #if hasAttribute(nonexhaustive)
                @nonexhaustive
                #endif
                public enum E {}
            }

            public extension A {
                func d() {}
            }
            """
        let found = Self.undocumented(SwiftSource(path: "a.swift", text: text))
        #expect(
            found.map(\.description) == [
                "a.swift:1: struct A is public and has no documentation comment",
                "a.swift:6: var c is public and has no documentation comment",
                "a.swift:19: enum E is public and has no documentation comment",
                "a.swift:23: func d is public and has no documentation comment",
            ]
        )
    }

    private static let conditional = ["#if hasAttribute(nonexhaustive)", "@nonexhaustive", "#endif"]

    private static func undocumented(_ source: SwiftSource) -> [Violation] {
        source.declarations.compactMap { declaration in
            guard declaration.isPublic, declaration.keyword != "extension" else { return nil }
            guard !isDocumented(declaration, in: source) else { return nil }
            let subject = "\(declaration.keyword) \(declaration.name)"
            return Violation(
                path: source.path,
                line: declaration.keywordLine,
                message: "\(subject) is public and has no documentation comment"
            )
        }
    }

    /// The comment ends on the line above the first attribute or modifier; plain remarks and an attribute
    /// that not each compiler has may stand between.
    private static func isDocumented(_ declaration: Declaration, in source: SwiftSource) -> Bool {
        source.lines[..<(declaration.firstLine - 1)].reversed()
            .drop { conditional.contains($0.code.trimmingCharacters(in: .whitespaces)) }
            .prefix(while: \.isComment)
            .contains(where: \.isDocumentation)
    }
}
