import CSluiceMigrations
import Foundation
import TestSupport
import Testing

@Suite("Migrations", .watched)
struct MigrationTests {
    /// A step: what it is called, and its SQL.
    private struct Step: Equatable {
        var name: String
        var sql: Data
    }

    /// The folders of the file's schema and of the server's.
    private static let folders = ["Migrations/", "Migrations/postgres/"]

    @Test(
        "Every file of Migrations is embedded byte for byte, in order, and nothing else is",
        arguments: folders
    )
    func embedded(_ folder: String) throws {
        let files = try Self.files(in: folder)
        #expect(!files.isEmpty)
        let embedded = folder == "Migrations/" ? Self.embeddedSteps() : Self.embeddedStepsOfServer()
        expectNone(Self.differences(files: files, embedded: embedded, folder))
    }

    @Test("Migration files are numbered without gaps, from 0001", arguments: folders)
    func numbers(_ folder: String) throws {
        let numbers = try Self.files(in: folder).map { String($0.name.prefix(5)) }
        #expect(numbers == numbers.indices.map { ("000\($0 + 1)".suffix(4)) + "_" })
    }

    @Test("Each file of Migrations is in a folder whose files are embedded")
    func noOthers() {
        let files = Repository.current.files.filter { $0.hasPrefix("Migrations/") && $0.hasSuffix(".sql") }
        let parents = Set(files.map { $0.prefix(through: $0.lastIndex(of: "/") ?? $0.startIndex) })
        #expect(parents.map(String.init).sorted() == Self.folders)
    }

    @Test("A file that is missing, changed, extra or out of order is found")
    func findsDifferences() {
        let first = Step(name: "0001_a", sql: Data("a".utf8))
        let second = Step(name: "0002_b", sql: Data("b".utf8))
        let edited = Step(name: "0002_b", sql: Data("b ".utf8))
        func messages(_ files: [Step], _ embedded: [Step]) -> [String] {
            Self.differences(files: files, embedded: embedded, "Migrations/")
                .map { "\($0.path) \($0.message)" }
        }
        let path = "Migrations/0002_b.sql"
        #expect(messages([first, second], [first, second]).isEmpty)
        #expect(messages([first, second], [first]) == ["\(path) is not embedded"])
        #expect(messages([first], [first, second]) == ["\(path) is embedded and is no file"])
        #expect(messages([first, second], [first, edited]) == ["\(path) differs from what is embedded"])
        #expect(
            messages([first, second], [second, first]) == ["Migrations/0001_a.sql is embedded out of order"]
        )
    }

    private static func differences(
        files: [Step],
        embedded: [Step],
        _ folder: String
    ) -> [Violation] {
        let fileByName = Dictionary(files.map { ($0.name, $0.sql) }) { first, _ in first }
        let embeddedByName = Dictionary(embedded.map { ($0.name, $0.sql) }) { first, _ in first }
        var found: [(name: String, message: String)] = files.compactMap { file in
            guard let sql = embeddedByName[file.name] else { return (file.name, "is not embedded") }
            return sql == file.sql ? nil : (file.name, "differs from what is embedded")
        }
        for step in embedded where fileByName[step.name] == nil {
            found.append((step.name, "is embedded and is no file"))
        }
        if found.isEmpty, let displaced = zip(files, embedded).first(where: { $0.name != $1.name }) {
            found = [(displaced.0.name, "is embedded out of order")]
        }
        return found.map { Violation(path: "\(folder)\($0.name).sql", line: 1, message: $0.message) }
    }

    /// The steps of a folder, without those of folders in it.
    private static func files(in folder: String) throws -> [Step] {
        try Repository.current.files
            .filter { $0.hasPrefix(folder) && $0.hasSuffix(".sql") }
            .compactMap { path in
                let name = path.dropFirst(folder.count).dropLast(".sql".count)
                guard !name.contains("/") else { return nil }
                return Step(name: String(name), sql: try Repository.current.data(of: path))
            }
    }

    private static func embeddedSteps() -> [Step] {
        (0..<sluice_migration_count).map { step(sluice_migration_at($0)) }
    }

    private static func embeddedStepsOfServer() -> [Step] {
        (0..<sluice_postgres_count).map { step(sluice_postgres_at($0)) }
    }

    private static func step(_ migration: sluice_migration) -> Step {
        let sql = Data(bytes: migration.sql, count: Int(migration.length))
        return Step(name: String(cString: migration.name), sql: sql)
    }
}

/// The rights that an owner grants, as the guide and the end of the server's migrations name them.
@Suite("Grants on a server", .watched) struct GrantTests {
    private static let guide = "Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md"
    private static let migration = "Migrations/postgres/0005_views.sql"
    /// What the worker calls, and a diagnosis, as the owner.
    private static let forOwner = ["Sources/SluicePostgres/Running/"]
    private static let diagnoses: Set = ["sluice_try", "sluice_contradictions"]

    /// The functions that statements of a text grant: up to a semicolon, also in comments.
    private static func granted(in text: String) -> Set<String> {
        var names: Set<String> = []
        for statement in text.split(separator: ";") {
            guard let start = statement.range(of: "GRANT EXECUTE ON FUNCTION") else { continue }
            let words = statement[start.upperBound...].components(separatedBy: " TO ")[0]
            for word in words.components(separatedBy: CharacterSet(charactersIn: " ,.\n-")) {
                if word.hasPrefix("sluice_") { names.insert(word) }
            }
        }
        return names
    }

    private static func called(in text: String) -> Set<String> {
        Set(text.matches(of: /sluice_[a-z_]+(?=\()/).map { String($0.output) })
    }

    private static func text(of path: String) throws -> String {
        String(decoding: try Repository.current.data(of: path), as: UTF8.self)
    }

    @Test("The guide grants what the migration names, and that each function which a broker calls for others")
    func areComplete() throws {
        let granted = try Self.granted(in: Self.text(of: Self.guide))
        #expect(try Self.granted(in: Self.text(of: Self.migration)) == granted)
        let sources = Repository.swiftSources(below: ["Sources/SluicePostgres/"]).map(\.path).filter { path in
            !Self.forOwner.contains { path.hasPrefix($0) }
        }
        let called = Set(try sources.flatMap { try Self.called(in: Self.text(of: $0)) })
        #expect(called.count > 30)
        #expect(called.subtracting(granted) == Self.diagnoses)
    }

    @Test("A function that is called and not granted is found")
    func findsMissing() {
        let text = "GRANT EXECUTE ON FUNCTION sluice.sluice_a,\n--    sluice_b TO reader;\nSELECT sluice_c();"
        #expect(Self.granted(in: text) == ["sluice_a", "sluice_b"])
        #expect(Self.called(in: "SELECT @sluice_a(?1), @sluice_d()") == ["sluice_a", "sluice_d"])
    }
}
