#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

/// The drawings of the README and the documentation, which `.ci/draw` makes from text.
@Suite("Drawings", .needs("python3"), .watched) struct DrawingTests {
    private static let folder = "Sources/Sluice/Sluice.docc/Resources/"

    @Test("The folder has the drawings that .ci/draw makes, and no other")
    func names() async throws {
        let drawn = try await Self.names().map { "\(Self.folder)\($0).svg" }
        let files = Repository.current.files.filter { $0.hasPrefix(Self.folder) && $0.hasSuffix(".svg") }
        #expect(files == drawn.sorted())
    }

    @Test("Each drawing is what .ci/draw prints, and has colours for a dark scheme")
    func drawings() async throws {
        for name in try await Self.names() {
            let committed = try Self.text(of: "\(Self.folder)\(name).svg")
            let drawn = try await Self.draw(name)
            #expect(committed == drawn, "\(name): run .ci/draw")
            #expect(committed.contains("prefers-color-scheme: dark"), "\(name)")
        }
    }

    @Test("Each drawing is shown on a page")
    func shown() async throws {
        let paths = Repository.current.files.filter { path in
            path == "README.md" || (path.hasPrefix("Sources/") && path.hasSuffix(".md"))
        }
        let pages = try paths.map(Self.text(of:)).joined(separator: "\n")
        for name in try await Self.names() {
            #expect(pages.contains("Resources/\(name).svg)"), "\(name)")
        }
    }

    private static func text(of path: String) throws -> String {
        String(decoding: try Repository.current.data(of: path), as: UTF8.self)
    }

    private static func names() async throws -> [String] {
        let names = try await draw("--list").split(separator: "\n").map(String.init)
        #expect(names.count >= 7)
        return names
    }

    private static func draw(_ argument: String) async throws -> String {
        let result = try await Subprocess.run(
            .name("python3"),
            arguments: Arguments([Repository.current.root + "/.ci/draw", argument]),
            input: .none,
            output: .string(limit: 1_024 * 1_024),
            error: .string(limit: 64 * 1_024)
        )
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        return result.standardOutput
    }
}
#endif
