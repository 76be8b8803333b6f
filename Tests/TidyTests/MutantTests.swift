import TestSupport
import Testing

@Suite("Mutants", .watched)
struct MutantTests {
    @Test("Each guard that a mutant takes out has a name of its own, and a line in the table of .ci/mutants")
    func table() throws {
        let script = String(decoding: try Repository.current.data(of: ".ci/mutants"), as: UTF8.self)
        let table = script.split(separator: "\n").compactMap { line in
            line.wholeMatch(of: #/([a-z].*[a-z]) {2,}[A-Za-z]+/#).map { String($0.1) }
        }
        let lines = Repository.swiftSources.filter { $0.path.hasPrefix("Sources/") }.flatMap(\.lines)
        let guards = lines.lazy.map(\.text).filter { $0.contains("mutant(") }
            .flatMap { $0.matches(of: #/mutant\("([^"]+)"\)/#).map { String($0.1) } }
        #expect(!guards.isEmpty && guards.sorted() == table.sorted())
    }
}
