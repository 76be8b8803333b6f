import Foundation
import TestSupport
import Testing

/// The tutorial, the files of its steps, and the program that it ends with, which other tests run.
@Suite("The files of the tutorial", .watched) struct TutorialFilesTests {
    private static let folder = "Sources/Sluice/Sluice.docc/Tutorials/"

    /// A step's file, and the name that the page gives it.
    private struct Shown {
        var name: String
        var file: String
    }

    @Test("Each file of a step is shown once, and each that is shown exists")
    func files() throws {
        let shown = try Self.shown().map(\.file).sorted()
        let resources = Repository.current.files.filter { $0.hasPrefix(Self.folder + "Resources/") }
        #expect(shown == resources.map { String($0.dropFirst(Self.folder.count + 10)) }.sorted())
    }

    @Test("A step adds to the file of the step before it, and changes one line at most")
    func steps() throws {
        var last: [String: [Substring]] = [:]
        for step in try Self.shown() where step.name.hasSuffix(".swift") {
            let lines = try Self.text(of: Self.folder + "Resources/" + step.file).split(separator: "\n")
            if let before = last[step.name] {
                let isStep = Self.isStep(before, lines)
                #expect(isStep, "\(step.file)")
            }
            last[step.name] = lines
        }
    }

    @Test("A step that changes two lines, or nothing, is found")
    func findsSteps() {
        #expect(Self.isStep(["a", "b"], ["a", "c", "b"]))
        #expect(Self.isStep(["a", "b"], ["a", "c", "d"]))
        #expect(!Self.isStep(["a", "b"], ["c", "d", "e"]))
        #expect(!Self.isStep(["a", "b"], ["a", "b"]))
    }

    @Test("The files of the last steps are those that are compiled and run")
    func program() throws {
        let tests = "Tests/ExamplesTests/OutboxTests.swift"
        var last: [String: String] = [:]
        for step in try Self.shown() {
            let name = step.name.split(separator: "/").last.map(String.init) ?? ""
            if step.name.hasPrefix("Sources/outbox/") { last["Examples/Tutorial/" + name] = step.file }
            if step.name.hasPrefix("Tests/") { last[tests] = step.file }
        }
        let compiled = Repository.current.files.filter { $0.hasPrefix("Examples/Tutorial/") || $0 == tests }
        #expect(last.keys.sorted() == compiled.sorted())
        for (path, file) in last {
            // Here the module has a name that no user's module has.
            let code = try Self.text(of: path).replacing("import TutorialOutbox", with: "import outbox")
            let step = try Self.text(of: Self.folder + "Resources/" + file)
            #expect(code == step, "\(path)")
        }
    }

    @Test("The page for those who want prose has the same program and the same commands")
    func prose() throws {
        let page = try Self.text(of: "Sources/Sluice/Sluice.docc/GettingStarted.md")
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        let resources = Self.folder + "Resources/"
        let compiled = Repository.current.files.filter { $0.hasPrefix("Examples/Tutorial/") }
        let files = try (compiled + [resources + "outbox-package-1.swift"]).map(Self.text(of:))
        #expect(blocks.sorted() == files.sorted())
        let sessions = Repository.current.files.filter { $0.hasPrefix(resources) && $0.hasSuffix(".txt") }
        let known = Set(try sessions.flatMap { try Self.text(of: $0).split(separator: "\n") })
        let commands = page.split(separator: "\n").filter { $0.hasPrefix("$ ") }
        #expect(commands.count >= 5)
        #expect(known.isSuperset(of: commands))
    }

    /// Whether one line at most is missing, and some are new.
    private static func isStep(_ before: [Substring], _ after: [Substring]) -> Bool {
        let difference = after.difference(from: before)
        return difference.removals.count <= 1 && !difference.insertions.isEmpty
    }

    /// What the page shows, in its order: `@Code(name: "main.swift", file: main-1.swift, reset: true)`.
    private static func shown() throws -> [Shown] {
        try text(of: folder + "BuildAnOutbox.tutorial").split(separator: "\n")
            .filter { $0.contains("@Code(") }
            .map { line in
                let parts = line.components(separatedBy: "\"")
                let file = try #require(parts.last).components(separatedBy: "file: ")
                let name = try #require(file.dropFirst().first).prefix { $0 != "," && $0 != ")" }
                return Shown(name: try #require(parts.dropFirst().first), file: String(name))
            }
    }

    private static func text(of path: String) throws -> String {
        String(decoding: try Repository.current.data(of: path), as: UTF8.self)
    }
}
