#if CommandLineTool
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("The elements of a JSON array", .watched) struct ElementSplitterTests {
    /// The elements of a text that comes in pieces.
    private func split(_ text: String, by size: Int, limit: Int = 100) -> [String] {
        var splitter = ElementSplitter(maximumByteCount: limit)
        var elements: [ElementSplitter.Element] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { piece in
                splitter.take(piece) { elements.append($0) }
            }
        }
        elements += splitter.last()
        return elements.map {
            switch $0 {
            case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
            case .tooLong: "too long"
            case .broken(let reason): "broken: \(reason)"
            }
        }
    }

    @Test(
        "They are what stands between its commas, wherever a piece ends",
        arguments: [
            ("[]", []), (" [ ] \n", []), ("[1]", ["1"]), ("[1,\n 2 ]", ["1", "2 "]),
            (#"[{"a":[1,2],"b":"]},\"["},"\\",[[]]]"#, [#"{"a":[1,2],"b":"]},\"["}"#, #""\\""#, "[[]]"]),
            ("[,]", ["", ""]), ("[1,]", ["1", ""]), ("[}1]", ["}1"]),
            ("[1234567890123]", ["too long"]), (#"["12345678901]",2]"#, ["too long", "2"]),
            ("", ["broken: it is empty"]), ("[1", ["1", "broken: it ends in its midst"]),
            ("[{", ["broken: it ends in its midst"]),
            (#"[1,"2]"#, ["1", "broken: it ends in its midst"]), ("{}", ["broken: it is no JSON array"]),
            ("[1]]", ["1", "broken: something follows its end"]),
        ] as [(String, [String])]
    )
    func elements(text: String, expected: [String]) {
        let limit = text.contains("12345678901") ? 12 : 100
        for size in [1, 2, 3, 100] { #expect(split(text, by: size, limit: limit) == expected) }
    }
}
#endif
