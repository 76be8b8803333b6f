import TestSupport
import Testing

@Suite("Suites", .watched)
struct WatchedSuiteTests {
    /// What a user's own tests look like: their suites are samples.
    private static let samples = [
        "Tests/ClientTests/TestingGuide.swift", "Tests/ChatOutboxTests/GuideTests.swift",
        "Tests/ExamplesTests/OutboxTests.swift",
    ]

    /// A test that does not end would hold up the run until somebody ends it, without a word of where it is.
    @Test("Each suite is watched, or has a time limit")
    func watched() {
        let suites = Repository.swiftSources.filter { $0.path.hasPrefix("Tests/") }.flatMap(Self.suites)
        #expect(suites.count > 200)
        expectNone(
            suites.filter { !$0.isWatched && !Self.samples.contains($0.violation.path) }.map(\.violation)
        )
    }

    @Test(
        "One that is not is found",
        arguments: [
            "@Suite(\"A\") struct A {}", "@Suite(\n    \"A\",\n    .serialized\n) struct A {}",
            "@Suite struct A {}",
        ]
    )
    func finds(text: String) {
        #expect(Self.suites(SwiftSource(path: "a.swift", text: text)).map(\.isWatched) == [false])
    }

    @Test(
        "One that is passes",
        arguments: [
            "@Suite(\"A\", .watched) struct A {}",
            "@Suite(\n    \"A\",\n    .watched(minutes: 5)\n) struct A {}",
            "@Suite(\"A\", .timeLimit(.minutes(1)))\nstruct A {}",
        ]
    )
    func passes(text: String) {
        #expect(Self.suites(SwiftSource(path: "a.swift", text: text)).map(\.isWatched) == [true])
    }

    private static func suites(_ source: SwiftSource) -> [(violation: Violation, isWatched: Bool)] {
        source.lines.indices.filter { source.lines[$0].code.contains("@Suite") }.map { line in
            var (depth, arguments) = (0, "")
            scan: for code in source.lines[line...].map(\.code) {
                for character in code.drop(while: { depth == 0 && $0 != "@" }) {
                    arguments.append(character)
                    if character == "(" { depth += 1 }
                    if character == ")" { depth -= 1 }
                    if depth == 0, character == "{" || character == ")" { break scan }
                }
            }
            let message = "a suite that nobody watches: add .watched"
            return (
                Violation(path: source.path, line: line + 1, message: message),
                arguments.contains(".watched") || arguments.contains(".timeLimit")
            )
        }
    }
}
