import CSluiceMigrations
import Foundation
import Testing

@Suite("Migrations")
struct MigrationTests {
    /// A step: what it is called, and its SQL.
    private struct Step: Equatable {
        var name: String
        var sql: Data
    }

    @Test("Every file of Migrations is embedded byte for byte, in order, and nothing else is")
    func embedded() throws {
        let files = try Self.filesOfRepository()
        #expect(!files.isEmpty)
        expectNone(Self.differences(files: files, embedded: Self.embeddedSteps()))
    }

    @Test("Migration files are numbered without gaps, from 0001")
    func numbers() throws {
        let numbers = try Self.filesOfRepository().map { String($0.name.prefix(5)) }
        #expect(numbers == numbers.indices.map { ("000\($0 + 1)".suffix(4)) + "_" })
    }

    @Test("A file that is missing, changed, extra or out of order is found")
    func findsDifferences() {
        let first = Step(name: "0001_a", sql: Data("a".utf8))
        let second = Step(name: "0002_b", sql: Data("b".utf8))
        let edited = Step(name: "0002_b", sql: Data("b ".utf8))
        func messages(_ files: [Step], _ embedded: [Step]) -> [String] {
            Self.differences(files: files, embedded: embedded).map { "\($0.path) \($0.message)" }
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

    private static func differences(files: [Step], embedded: [Step]) -> [Violation] {
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
        return found.map { Violation(path: "Migrations/\($0.name).sql", line: 1, message: $0.message) }
    }

    private static func filesOfRepository() throws -> [Step] {
        try Repository.current.files
            .filter { $0.hasPrefix("Migrations/") && $0.hasSuffix(".sql") }
            .map { path in
                let name = path.dropFirst("Migrations/".count).dropLast(".sql".count)
                return Step(name: String(name), sql: try Repository.current.data(of: path))
            }
    }

    private static func embeddedSteps() -> [Step] {
        (0..<sluice_migration_count).map { index in
            let migration = sluice_migration_at(index)
            let sql = Data(bytes: migration.sql, count: Int(migration.length))
            return Step(name: String(cString: migration.name), sql: sql)
        }
    }
}
