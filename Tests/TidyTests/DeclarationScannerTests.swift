import TestSupport
import Testing

@Suite("Declaration scanner", .watched)
struct DeclarationScannerTests {
    private func declarations(_ text: String) -> [Declaration] {
        SwiftSource(path: "a.swift", text: text).declarations
    }

    private func publicNames(_ text: String) -> [String] {
        declarations(text).filter(\.isPublic).map { "\($0.keyword) \($0.name)" }
    }

    @Test("A function lasts from its keyword to its closing brace")
    func length() throws {
        let found = declarations(
            """
            @Test("{")
            public
            func a(
                b: () -> Int = { 1 }
            ) where C == D {
                if b { c() } else { "}" }
                // }
            }
            """
        )
        let function = try #require(found.first)
        #expect(found.count == 1)
        #expect(function.firstLine == 1)
        #expect(function.keywordLine == 3)
        #expect(function.functionLength == 6)
    }

    @Test("Initialisers, subscripts, accessors and local functions have lengths; requirements have none")
    func kindsOfFunctions() {
        let found = declarations(
            """
            struct S {
                init() { self.init(1) }
                subscript(i: Int) -> Int {
                    i
                }
                var stored = make {
                    1
                }
                var computed: Int {
                    func local() {
                    }
                    return 1
                }
            }
            protocol P {
                func required()
                init?(_ a: Int)
                var property: Int { get }
            }
            """
        )
        let lengths = found.compactMap { declaration in
            declaration.functionLength.map { "\(declaration.keyword) \(declaration.name) \($0)" }
        }
        #expect(
            lengths == [
                "init ( 1", "subscript ( 3", "var computed 5", "func local 2", "var property 1",
            ]
        )
    }

    @Test("A stored property before a function does not take its brace")
    func storedProperty() {
        let found = declarations("class C {\n var a: Int\n lazy var b: Int\n static func f() {\n }\n}")
        #expect(found.map(\.name) == ["C", "a", "b", "f"])
        #expect(found.map(\.functionLength) == [nil, nil, nil, 2])
    }

    @Test("What is public by word is found")
    func publicByWord() {
        let text = """
            public import A
            @frozen public struct S: P {
                public private(set) var a: Int
                private(set) public var b = 1
                internal let c = 1
                public static func == (l: S, r: S) -> Bool { true }
                public init(open: Int) {}
                public class func d() { let e = 1 }
            }
            public typealias T = S
            """
        #expect(
            publicNames(text) == [
                "struct S", "var a", "var b", "func =", "init (", "func d", "typealias T",
            ]
        )
    }

    @Test("What is public by its place is found")
    func publicByPlace() {
        let text = """
            public enum E {
                case open
                case closed(Int)
                func f() { switch self { case .open: break } }
            }
            public protocol P {
                associatedtype A
                func g()
            }
            public extension E {
                func h() {}
                private func i() {}
            }
            extension E { func j() {} }
            """
        let expected = [
            "enum E", "case open", "case closed",
            "protocol P", "associatedtype A", "func g",
            "extension E", "func h",
        ]
        #expect(publicNames(text) == expected)
    }

    @Test("Names that look like keywords declare nothing")
    func lookalikes() {
        let found = declarations(
            """
            func f(actor: Int, prefix: Int) {
                x.func { $0.struct }
                actor.run(protocol: open(1))
                for case let y in z {}
                list.prefix(3).forEach { $0.init() }
            }
            """
        )
        #expect(found.map(\.name) == ["f"])
    }
}
