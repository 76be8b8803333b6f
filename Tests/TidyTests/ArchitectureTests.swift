import Foundation
import TestSupport
import Testing

/// The map of the sources, which is of use while it is right.
@Suite("The map of the sources", .watched) struct ArchitectureTests {
    private static let roots = [
        "", "Sources/Sluice/", "Sources/SluicePostgres/", "Sources/SluiceWeb/", "Sources/Sluice/Sluice.docc/",
        "Sources/SluicePostgres/SluicePostgres.docc/", "Migrations/", "Migrations/postgres/",
    ]

    private static func map() throws -> String {
        String(decoding: try Repository.current.data(of: "ARCHITECTURE.md"), as: UTF8.self)
    }

    @Test("It can be read in one sitting")
    func length() throws {
        #expect(try Self.map().split(separator: "\n", omittingEmptySubsequences: false).count <= 251)
    }

    @Test("Each file that it names exists, and each function of a server's schema")
    func names() throws {
        let files = Repository.current.files
        let map = try Self.map()
        let names = map.matches(of: #/`([\w+/.]+\.(?:swift|sql|md))`/#).map { String($0.1) }
        #expect(names.count > 100)
        let missing = Set(names).filter { name in
            !files.contains { file in
                Self.roots.contains { file == $0 + name }
                    || (!name.contains("/") && file.hasSuffix("/\(name)"))
            }
        }
        #expect(missing.isEmpty, "\(missing.sorted())")
        let schema = try files.filter { $0.hasPrefix("Migrations/postgres/") && $0.hasSuffix(".sql") }
            .map { String(decoding: try Repository.current.data(of: $0), as: UTF8.self) }.joined()
        let functions = Set(map.matches(of: #/\b(sluice_\w+)/#).map { String($0.1) })
        let unknown = functions.filter { !schema.contains($0) && !map.contains("view `\($0)`") }
        #expect(unknown.isEmpty, "\(unknown.sorted())")
    }
}
