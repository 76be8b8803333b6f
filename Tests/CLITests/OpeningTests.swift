#if CommandLineTool
import Foundation
import SluiceSQLite
import Subprocess
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

@Suite("Files that the tool cannot open", .watched) struct OpeningTests {
    private static let verbs =
        [
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1"],
            ["run", "--exec", "true", "--until-empty"],
            ["drain", "--exec", "true"],
            ["queues"], ["actions"], ["show", "q"], ["holds"], ["gate", "list"], ["dead", "list"], ["export"],
            ["retry", "--all"], ["remove", "1"], ["hold", "--all"], ["watch", "--plain"],
            ["backup", "/nowhere/copy"],
        ] + page

    #if Web
    private static let page = [["serve", "--port", "0"]]
    #else
    /// Without the trait the verb only says so.
    private static let page: [[String]] = []
    #endif

    private func expectRefusal(
        _ place: Workplace,
        _ words: String,
        through program: [String] = [],
        verbs: [[String]] = Self.verbs,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try? Data(contentsOf: URL(fileURLWithPath: place.path))
        for verb in verbs {
            let command = program + [Tool.path] + verb + ["--file", place.path]
            let result = try await Tool.launch(command[0], Array(command.dropFirst()))
            #expect(result.status == .exited(73), "\(verb) \(result)", sourceLocation: location)
            #expect(result.errors.hasPrefix("sluice: "), "\(result)", sourceLocation: location)
            #expect(result.errors.contains(words), "\(result)", sourceLocation: location)
            #expect(result.output == "", sourceLocation: location)
        }
        let after = try? Data(contentsOf: URL(fileURLWithPath: place.path))
        #expect(before == after, sourceLocation: location)
    }

    @Test("A file that is no database ends with 73 and stays as it was")
    func noDatabase() async throws {
        let place = try Workplace()
        _ = try place.write(
            "queues.sqlite",
            String(repeating: "This is a letter, not a database. ", count: 50)
        )
        try await expectRefusal(place, "not a SQLite database")
    }

    @Test(
        "A new file, its log and its index are its owner's alone, whatever the umask",
        arguments: ["000", "022", "077"]
    )
    func umask(_ mask: String) async throws {
        let place = try Workplace()
        // The handler sees the files while the tool has them open.
        let modes = "stat -c %a '\(place.path)' '\(place.path)-wal' '\(place.path)-shm'"
        let script = """
            umask \(mask)
            "$0" enqueue --queue q --kind k --payload 1 --file "$1"
            "$0" drain --exec "$2" --file "$1" >&2
            """
        let result = try await Tool.launch("/bin/sh", ["-c", script, Tool.path, place.path, modes])
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.errors.split(separator: "\n").count { $0 == "600" } == 3, "\(result)")
    }

    @Test("A file of a newer version ends with 73 and stays as it was")
    func newerSchema() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        _ = try await place.sql(
            "INSERT INTO sluice_migrations (number, name, applied_at_us) VALUES (9999, '9999_later', 0)"
        )
        try await expectRefusal(place, "newer version")
    }

    @Test(
        "What changes a file in a directory that cannot be written ends with 73, and the file stays as it was"
    )
    func readOnlyDirectory() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        try #require(chmod(place.path, 0o444) == 0 && chmod(place.directory, 0o555) == 0)
        defer { _ = chmod(place.directory, 0o755) }
        // For root permissions hold only without its right to pass over them.
        let plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        let looks = [
            "queues", "actions", "show", "holds", "gate", "dead", "export", "watch", "backup",
        ]
        try await expectRefusal(
            place,
            "cannot be",
            through: geteuid() == 0 ? plain : [],
            verbs: Self.verbs.filter { !looks.contains($0[0]) }
        )
    }

    @Test(
        "What only looks opens a file that may not be written, and leaves nothing beside it",
        arguments: [mode_t(0o755), 0o555]
    )
    func readOnlyFile(_ directoryMode: mode_t) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let before = try Data(contentsOf: URL(fileURLWithPath: place.path))
        try #require(chmod(place.path, 0o444) == 0 && chmod(place.directory, directoryMode) == 0)
        defer { _ = chmod(place.directory, 0o755) }
        let plain =
            geteuid() == 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []
        for verb in [
            ["queues"], ["actions"], ["show", "q"], ["dead", "list"], ["export"], ["gate", "list"],
            ["doctor"],
        ] {
            let command = plain + [Tool.path] + verb + ["--file", place.path]
            let result = try await Tool.launch(command[0], Array(command.dropFirst()))
            // The doctor finds fault with it.
            #expect(result.status == .exited(verb == ["doctor"] ? 1 : 0), "\(verb) \(result)")
            #expect(result.output.contains("q") || verb[0] == "dead" || verb[0] == "gate")
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory) == ["queues.sqlite"])
        }
        let command = plain + [Tool.path, "hold", "--all", "--file", place.path]
        let result = try await Tool.launch(command[0], Array(command.dropFirst()))
        #expect(result.status == .exited(73))
        #expect(result.errors.contains("`sluice queues`"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: place.path)) == before)
    }

    @Test("What only looks does not read a file whose interrupted transaction it may not undo")
    func hotJournal() async throws {
        let (place, copy) = (try Workplace(), try Workplace())
        try await place.enqueue("q")
        let connection = try Connection(path: place.path, mode: .write)
        try connection.execute(
            """
            PRAGMA journal_mode = DELETE; PRAGMA cache_size = 3; BEGIN IMMEDIATE; CREATE TABLE own (a);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
            INSERT INTO own SELECT zeroblob(2000) FROM n;
            """
        )
        // As a kill leaves it.
        for suffix in ["", "-journal"] {
            try FileManager.default.copyItem(atPath: place.path + suffix, toPath: copy.path + suffix)
        }
        connection.rollback()
        connection.close()
        try #require(chmod(copy.path, 0o444) == 0 && chmod(copy.directory, 0o555) == 0)
        defer { _ = chmod(copy.directory, 0o755) }
        let plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        try await expectRefusal(
            copy,
            "the journal of a transaction that was interrupted",
            through: geteuid() == 0 ? plain : [],
            verbs: [["queues"], ["export"], ["doctor"], ["backup", "\(place.directory)/copy"]]
        )
    }

    @Test("A directory that is not there ends with 73")
    func noDirectory() async throws {
        let place = try Workplace()
        try FileManager.default.removeItem(atPath: place.directory)
        try await expectRefusal(place, "no")
    }

    @Test("A listing adds nothing to a database of somebody else, or to an empty file")
    func listingAddsNothing() async throws {
        for statement in ["", "CREATE TABLE own (a)", "PRAGMA journal_mode = WAL; CREATE TABLE own (a)"] {
            let place = try Workplace()
            _ = try place.write("queues.sqlite", "")
            if !statement.isEmpty { _ = try await place.sql(statement) }
            try await expectRefusal(place, "has no queues", verbs: [["queues"], ["actions"]])
            let files = try FileManager.default.contentsOfDirectory(atPath: place.directory)
            #expect(files == ["queues.sqlite"])
        }
    }

    @Test("Only enqueue, run, drain and import make a file")
    func othersMakeNothing() async throws {
        let place = try Workplace()
        for verb in Self.verbs.dropFirst(3) + [
            ["doctor"], ["dead", "show", "1"], ["dead", "requeue", "1"], ["gate", "open", "g"],
            ["gate", "close", "g"], ["resume", "1"],
        ] {
            let result = try await Tool.run(verb + ["--file", place.path])
            #expect(result.status == .exited(73))
            #expect(
                result.errors == "sluice: there is no file \(place.path): "
                    + "check --file; only enqueue, run, drain and import make one\n"
            )
        }
        #expect(!FileManager.default.fileExists(atPath: place.path))
    }
}
#endif
