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
