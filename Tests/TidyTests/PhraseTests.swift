import Foundation
import TestSupport
import Testing

@Suite("Plain words", .watched)
struct PhraseTests {
    /// Turns of phrase that make a page or a comment hard to read: see CONTRIBUTING.md.
    private static let turns =
        #"\b(anew|by and by|meanwhile|by now|no longer|what is|what has|what was|those that|those who|"#
        + #"who does|behind (?:it|that|this|them)|is told|are told|tells?|stands?|takes? in|gives? way|"#
        + #"not meant|"#
        + #"has (?:the|a|an|its|them|it)\s+\w+\s+(?:go|wait|take|come|stand))\b"#

    /// How many there may be in all comments and pages: fewer each time somebody rewrites a page.
    private static let limit = 60

    private static func count(in text: String) throws -> Int {
        let expression = try NSRegularExpression(pattern: turns, options: .caseInsensitive)
        return expression.numberOfMatches(in: text, range: NSRange(text.startIndex..., in: text))
    }

    @Test("Comments and pages are in plain words")
    func repository() throws {
        var counts: [(path: String, count: Int)] = []
        for source in Repository.swiftSources(below: ["Sources/"]) {
            let comments = source.lines.map(\.comment).joined(separator: "\n")
            counts.append((source.path, try Self.count(in: comments)))
        }
        for path in Repository.current.files where path.hasSuffix(".md") || path.hasSuffix(".tutorial") {
            guard path.hasPrefix("Sources/") || !path.contains("/") else { continue }
            let text = String(decoding: try Repository.current.data(of: path), as: UTF8.self)
            counts.append((path, try Self.count(in: text)))
        }
        let most = counts.sorted { $0.count > $1.count }.prefix(10).map { "\($0.path): \($0.count)" }
        let total = counts.reduce(0) { $0 + $1.count }
        #expect(total <= Self.limit, "\(total); most in \(most)")
    }

    @Test("Turns of phrase are found, and plain sentences are not")
    func finds() throws {
        #expect(try Self.count(in: "What is told begins anew; it stands behind that.") == 4)
        #expect(try Self.count(in: "The broker starts the action again after the retry wait.") == 0)
    }
}
