import TestSupport
import Testing

@Suite("Lexer", .watched)
struct LexerTests {
    private func code(_ text: String) -> String {
        var lexer = Lexer(text)
        lexer.run()
        return String(decoding: lexer.code, as: UTF8.self)
    }

    private func comments(_ text: String) -> String {
        var lexer = Lexer(text)
        lexer.run()
        return String(decoding: lexer.comments, as: UTF8.self)
    }

    @Test("Code stays as it is")
    func plainCode() {
        #expect(code("let a = b / c // d") == "let a = b / c     ")
        #expect(code("func ä() { [1: (2, 3)] }") == "func ä() { [1: (2, 3)] }")
    }

    @Test("Comments leave the code and nest")
    func blockComments() {
        #expect(code("a /* b /* c */ d */ e") == "a                   e")
        #expect(comments("a /* b */ c // d") == "  /* b */   // d")
        #expect(code("a /* never closed {") == "a                  ")
    }

    @Test("Strings lose their text, whatever quotes and slashes it has")
    func strings() {
        #expect(code(#"f("a { \" // b", 1)"#) == #"f("           ", 1)"#)
        #expect(code(##"f(#"a " \( } "#)"##) == #"f( "         " )"#)
        #expect(code("x = \"\"") == "x = \"\"")
        #expect(code("\"unclosed {\nlet a = 1") == "\"          \nlet a = 1")
    }

    @Test("A multi-line string may hold quotes and braces")
    func multilineStrings() {
        let text = "a(\"\"\"\n  { \"b\" \\\"\"\" //\n  \"\"\") { }"
        #expect(code(text) == "a(\"\"\"\n               \n  \"\"\") { }")
    }

    @Test("An interpolation is code, and strings inside it are strings")
    func interpolations() {
        #expect(code(#""a \(f(b, "c }") + d) e" + g"#) == #""   (f(b, "   ") + d)  " + g"#)
        #expect(code(##"#"a \(b) \#(c) d"# + e"##) == ##" "         (c)  "  + e"##)
    }

    @Test("A back-quoted name is one word")
    func quotedNames() {
        #expect(code("func `a { b`() {}") == "func _______() {}")
    }

    @Test("An extended regular expression is blank")
    func regularExpressions() {
        #expect(code(##"let a = #/[{"]\/#x/# + b"##) == "let a =              + b")
    }
}
