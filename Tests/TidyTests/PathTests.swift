import Foundation
import TestSupport
import Testing

@Suite("Paths", .watched)
struct PathTests {
    @Test("The walk finds this file and the manifest, and no build folder")
    func walk() {
        let files = Repository.current.files
        #expect(files.contains("Package.swift"))
        #expect(files.contains("Tests/TidyTests/PathTests.swift"))
        #expect(!files.contains { $0.split(separator: "/").contains { Repository.isGenerated(String($0)) } })
    }

    @Test("No two files or folders differ in case alone")
    func cases() {
        expectNone(Self.collisions(Repository.current.files))
    }

    @Test("No file names a place on the machine it was written on")
    func machines() throws {
        let places = Self.placesOfThisMachine()
        for path in Repository.current.files {
            let data = try Repository.current.data(of: path)
            guard !data.contains(0) else { continue }
            expectNone(Self.mentions(of: places, in: data, path: path))
        }
    }

    @Test("Two folders that differ in case alone are found")
    func findsCollisions() {
        let files = ["Sources/Sluice/A.swift", "Sources/sluice/B.swift", "Sources/Other/a.swift"]
        let found = Self.collisions(files)
        #expect(found.map(\.description) == ["Sources/sluice:1: differs from Sources/Sluice in case alone"])
    }

    @Test("A place of the machine is found, a longer path that ends like it is not")
    func findsPlaces() {
        let text = """
            see /srv/clone/a
            and ~/srv/clone/b, $X/srv/clone/c, x/srv/clone/d
            (/srv/clone/e) /srv/clones

            """
        let found = Self.mentions(of: ["/srv/clone"], in: Data(text.utf8), path: "a.md")
        #expect(
            found.map(\.description) == [
                "a.md:1: names a folder of one machine, /srv/clone",
                "a.md:3: names a folder of one machine, /srv/clone",
            ]
        )
    }

    private static func collisions(_ files: [String]) -> [Violation] {
        var seen: [String: String] = [:]
        var found: [Violation] = []
        for path in files.flatMap(pathAndParents) {
            let first = seen[path.lowercased(), default: path]
            seen[path.lowercased()] = first
            let violation = Violation(path: path, line: 1, message: "differs from \(first) in case alone")
            if first != path, !found.contains(violation) { found.append(violation) }
        }
        return found
    }

    /// `a/b/c`: `a`, `a/b`, `a/b/c`.
    private static func pathAndParents(_ path: String) -> [String] {
        let parts = path.split(separator: "/")
        return parts.indices.map { parts[...$0].joined(separator: "/") }
    }

    /// The clone, the folder it lies in and the user's home, unless every machine has that folder.
    private static func placesOfThisMachine() -> [String] {
        let everywhere = ["", "/", "/tmp", "/private/tmp", "/var/tmp", "/usr", "/opt", "/home", "/Users"]
        let root = Repository.current.root
        let parent = URL(fileURLWithPath: root).deletingLastPathComponent().path
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        return Set([root, parent, home]).subtracting(everywhere).sorted()
    }

    private static func mentions(of places: [String], in data: Data, path: String) -> [Violation] {
        places.flatMap { place in
            let needle = Data("\(place)/".utf8)
            var found: [Violation] = []
            var start = data.startIndex
            while let match = data.range(of: needle, in: start..<data.endIndex) {
                start = match.upperBound
                if isInsideLongerPath(match.lowerBound, of: data) { continue }
                let line = data[..<match.lowerBound].count { $0 == UInt8(ascii: "\n") } + 1
                let message = "names a folder of one machine, \(place)"
                found.append(Violation(path: path, line: line, message: message))
            }
            return found
        }
    }

    private static func isInsideLongerPath(_ position: Data.Index, of data: Data) -> Bool {
        guard position > data.startIndex else { return false }
        let before = data[position - 1]
        return Token.isPartOfWord(before) || "~$.-}".utf8.contains(before)
    }
}
