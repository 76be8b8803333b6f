import Foundation
import TestSupport
import Testing

@Suite("Words", .watched)
struct WordTests {
    /// A piece of text that has no place in some folders.
    struct Forbidden: Sendable {
        var text: String
        var reason: String
        /// Comments and strings count too.
        var everywhere = false
    }

    private static let sleeps = ["Task.sleep", "Never>.sleep", "Thread.sleep", "usleep", "nanosleep"].map {
        Forbidden(text: $0, reason: "time comes from an injected clock")
    }

    private static let inLibraries =
        sleeps + [
            Forbidden(text: "try!", reason: "an error of the world is thrown, not trapped"),
            Forbidden(text: "fatalError(", reason: "a library uses preconditions with a sentence, or errors"),
            Forbidden(text: "print(", reason: "a library logs, at debug and trace"),
            Forbidden(text: "Swift.print(", reason: "a library logs, at debug and trace"),
            Forbidden(text: "debugPrint(", reason: "a library logs, at debug and trace"),
            Forbidden(text: "TODO", reason: "what is left to do stands in an issue", everywhere: true),
            Forbidden(text: "FIXME", reason: "what is left to do stands in an issue", everywhere: true),
        ]

    private static let inTests =
        sleeps + [
            Forbidden(text: ".disabled(", reason: "a test that does not run guards nothing"),
            Forbidden(text: "withKnownIssue", reason: "a test that may fail guards nothing"),
        ]

    /// Until Swift 6.4 a task of `async let` may read its own memory once more when its parent has freed it
    /// (https://github.com/swiftlang/swift/pull/89883), which ended one of some 10,000 runs of a scenario.
    private static let whereRunOften = [
        Forbidden(text: "async let", reason: "its end is a race in Swift's runtime; a task group's is none")
    ]

    /// The ways to threads and times of the system, which a simulated world has in place of them.
    private static let ofTheSystem = [
        "DispatchTime", "asyncAfter", "DispatchSemaphore", "Task.detached", "DispatchQueue(label:",
        "ContinuousClock", "makeTimerSource",
    ].map { Forbidden(text: $0, reason: "WorkPlace has the engine's threads and times") }

    private static let engines = ["Sources/Sluice/", "Sources/SluicePostgres/"]
    /// The ways themselves, the clocks of the system, and connections to a server, which are its sockets.
    private static let isOfTheSystem = [
        "Sources/Sluice/Contexts/", "Sources/Sluice/BrokerClock.swift", "Sources/SluicePostgres/Connection/",
    ]

    private static let needingReason = ["@unchecked Sendable", "nonisolated(unsafe)"]

    @Test("Libraries neither trap, print, sleep nor postpone")
    func libraries() {
        let sources = Repository.swiftSources(below: Repository.libraries)
        expectNone(sources.flatMap { Self.violations(of: Self.inLibraries, in: $0) })
    }

    @Test("Tests neither sleep nor stand aside")
    func tests() {
        let sources = Repository.swiftSources(below: ["Tests/"])
        // There it is tested what makes a user's test fail.
        let trait = "Tests/SluiceTests/TestKit/TestBrokerTests.swift"
        let found = sources.flatMap { Self.violations(of: Self.inTests, in: $0) }
        expectNone(found.filter { !($0.path == trait && $0.message.hasPrefix("withKnownIssue")) })
    }

    @Test("What runs often, or at users', has no async let")
    func childTasks() {
        let folders = ["Sources/", "Tests/CrashChild/", "Tests/HistoryWorker/", "Tests/PoolWriter/"]
        let sources = Repository.swiftSources(below: folders)
        expectNone(sources.flatMap { Self.violations(of: Self.whereRunOften, in: $0) })
    }

    @Test("The engine takes threads and times from Contexts alone")
    func system() {
        let sources = Repository.swiftSources(below: Self.engines).filter { source in
            !Self.isOfTheSystem.contains { source.path.hasPrefix($0) }
        }
        #expect(sources.count > 300)
        expectNone(sources.flatMap { Self.violations(of: Self.ofTheSystem, in: $0) })
    }

    @Test("What the compiler is told to believe has its reason beside it")
    func unchecked() {
        expectNone(Repository.swiftSources.flatMap(Self.uncheckedWithoutReason))
    }

    @Test(
        "Every forbidden word is found in code",
        arguments: inLibraries + inTests + whereRunOften + ofTheSystem
    )
    func findsWords(_ word: Forbidden) {
        let source = SwiftSource(path: "a.swift", text: "func a() {\n    let b = \(word.text)(1)\n}\n")
        let found = Self.violations(of: [word], in: source)
        #expect(found.map(\.description) == ["a.swift:2: \(word.text): \(word.reason)"])
    }

    @Test("Words inside longer names, strings and comments are no violations, except TODO and FIXME")
    func passesOthers() {
        let allowed = """
            blueprint(1); logger.print(2); _usleep(3); Task.sleeper
            // print( Task.sleep try!
            let a = "print( fatalError( usleep"
            """
        let refused = "/* TODO */\nlet a = \"\\(try! b()) FIXME\""
        func lines(_ text: String) -> [Int] {
            Self.violations(of: Self.inLibraries, in: SwiftSource(path: "a.swift", text: text)).map(\.line)
        }
        #expect(lines(allowed).isEmpty)
        #expect(lines(refused) == [1, 2, 2])
    }

    @Test("An unchecked conformance without a comment is found, one with a comment passes")
    func findsUnchecked() {
        let text = """
            final class A: @unchecked Sendable {}
            // Guarded by the lock.
            final class B: @unchecked Sendable {}
            nonisolated(unsafe) var c = 1  // Written once, before any thread starts.

            nonisolated(unsafe) var d = "// no comment"
            """
        let found = Self.uncheckedWithoutReason(SwiftSource(path: "a.swift", text: text))
        #expect(found.map(\.line) == [1, 6])
    }

    private static func violations(of words: [Forbidden], in source: SwiftSource) -> [Violation] {
        source.lines.enumerated().flatMap { index, line in
            words.filter { occurs($0.text, in: $0.everywhere ? line.text : line.code) }.map {
                Violation(path: source.path, line: index + 1, message: "\($0.text): \($0.reason)")
            }
        }
    }

    private static func uncheckedWithoutReason(_ source: SwiftSource) -> [Violation] {
        source.lines.indices.flatMap { index -> [Violation] in
            let line = source.lines[index]
            let isExplainedAbove = index > 0 && source.lines[index - 1].isComment
            let explained = isExplainedAbove || line.hasComment
            return needingReason.filter { !explained && occurs($0, in: line.code) }.map {
                Violation(
                    path: source.path,
                    line: index + 1,
                    message: "\($0) without a comment that says why"
                )
            }
        }
    }

    /// Whether the text stands in the line as itself: no part of a longer name, no member of something.
    private static func occurs(_ text: String, in line: String) -> Bool {
        // Of most lines that is known at once.
        guard strstr(line, text) != nil else { return false }
        let line = Array(line.utf8)
        let text = Array(text.utf8)
        guard let first = text.first, let last = text.last, line.count >= text.count else { return false }
        return (0...line.count - text.count).contains { start in
            guard line[start] == first, line[start...].starts(with: text) else { return false }
            let before = start > 0 ? line[start - 1] : UInt8(ascii: " ")
            let end = start + text.count
            let after = end < line.count ? line[end] : UInt8(ascii: " ")
            let continuesName = Token.isPartOfWord(before) || before == UInt8(ascii: ".")
            if Token.isPartOfWord(first), continuesName { return false }
            return !(Token.isPartOfWord(last) && Token.isPartOfWord(after))
        }
    }
}
