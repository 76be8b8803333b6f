import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Opening a file", .watched)
struct OpeningTests {
    @Test("A new file, its log and its shared memory can be read by their owner only")
    func modes() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        for suffix in ["", "-wal", "-shm"] {
            #expect(try mode(fixture.file.path + suffix) == 0o600, "\(suffix)")
        }
        #expect(
            Set(try contents(besides: fixture.file.path).keys) == [
                "queues.sqlite", "queues.sqlite-wal", "queues.sqlite-shm",
            ]
        )
        await fixture.store.close()
        #expect(Set(try contents(besides: fixture.file.path).keys) == ["queues.sqlite"])
    }

    @Test("A file of a newer schema is refused and stays as it is")
    func newerSchema() async throws {
        let file = try TemporaryFile()
        try await openAndClose(file.path)
        let connection = try Connection(path: file.path, mode: .write)
        try connection.execute("INSERT INTO sluice_migrations VALUES (99, '0099_future', 0)")
        connection.close()
        let before = try contents(besides: file.path)
        do {
            try await openAndClose(file.path)
            Issue.record("the file was opened")
        } catch let error as SluiceError {
            #expect(error.code == .newerSchema)
            #expect(error.message.contains("0099_future") && error.message.contains("update the library"))
        }
        #expect(try contents(besides: file.path) == before)
    }

    @Test("A file of a newer schema that was left in the middle of its work stays as it is, with its log")
    func newerSchemaWithLog() async throws {
        let file = try TemporaryFile()
        let other = try TemporaryFile()
        try await openAndClose(file.path)
        let connection = try Connection(path: file.path, mode: .write)
        try connection.set(Pragma("wal_autocheckpoint", 0))
        try connection.execute("INSERT INTO sluice_migrations VALUES (99, '0099_future', 0)")
        // What a kill leaves: the database and a log that was not copied.
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: file.path + suffix, toPath: other.path + suffix)
        }
        var before = try contents(besides: other.path)
        #expect(before["queues.sqlite-wal"]?.isEmpty == false)
        #expect(await refusal { try await openAndClose(other.path) } == .newerSchema)
        var after = try contents(besides: other.path)
        // The index of the log is made anew by whoever reads it.
        before["queues.sqlite-shm"] = nil
        after["queues.sqlite-shm"] = nil
        #expect(after == before)
    }

    static let strangers: [(String, Data)] = [
        ("two bytes", Data([0x20, 0x20])), ("a line", Data("not a database\n".utf8)),
        ("a page", Data(repeating: 0x41, count: 4_096)),
        ("text", Data(String(repeating: "é\n", count: 9_999).utf8)),
        ("a torn header", Data("SQLite format 3\u{0}".utf8) + Data(repeating: 0xFF, count: 5_000)),
    ]

    @Test("A file that is no database is refused and stays as it is", arguments: strangers)
    func notADatabase(_ name: String, _ data: Data) async throws {
        let file = try TemporaryFile()
        try data.write(to: URL(fileURLWithPath: file.path))
        let before = try contents(besides: file.path)
        #expect(await refusal { try await openAndClose(file.path) } == .notADatabase)
        #expect(try contents(besides: file.path) == before)
        // It was not kept as open.
        #expect(await refusal { try await openAndClose(file.path) } == .notADatabase)
    }

    @Test("A look at a file without the schema, or with an older one, is refused and makes nothing")
    func look() async throws {
        func look(_ file: TemporaryFile) async -> SluiceError? {
            await #expect(throws: SluiceError.self) {
                try await openAndClose(file.path) { $0.file.makesMissing = false }
            }
        }
        let missing = try TemporaryFile()
        #expect(await look(missing)?.code == .cannotOpen)
        #expect(try contents(besides: missing.path).isEmpty)

        let older = try TemporaryFile()
        try await openAndClose(older.path)
        try await openAndClose(older.path) { $0.file.makesMissing = false }
        let connection = try Connection(path: older.path, mode: .write)
        try connection.execute("DELETE FROM sluice_migrations WHERE number = \(Migration.all.count)")
        connection.close()
        let before = try contents(besides: older.path)
        #expect(await look(older)?.code == .schemaMissing)
        #expect(try contents(besides: older.path) == before)
    }

    @Test("A file on a file system that is mounted read-only is refused as such")
    func readOnlyFileSystem() async throws {
        let file = try TemporaryFile()
        let disk = try FaultyDisk()
        try await openAndClose(file.path) { $0.file.vfs = disk.name }
        let before = try contents(besides: file.path)
        disk.setReadOnly()
        for makesMissing in [true, false] {
            let code = await refusal {
                try await openAndClose(file.path) {
                    $0.file.vfs = disk.name
                    $0.file.makesMissing = makesMissing
                }
            }
            #expect(code == .readOnly)
        }
        #expect(try contents(besides: file.path) == before)
    }

    @Test("An empty file is a new database")
    func empty() async throws {
        let file = try TemporaryFile()
        try Data().write(to: URL(fileURLWithPath: file.path))
        try await openAndClose(file.path)
        #expect(try Connection(path: file.path, mode: .read).pragma("auto_vacuum") == "2")
    }

    @Test("A directory, a missing directory, and what is no file are refused")
    func noFile() async throws {
        let file = try TemporaryFile()
        try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: false)
        #expect(await refusal { try await openAndClose(file.path) } == .cannotOpen)
        #expect(await refusal { try await openAndClose(file.path + "/") } == .cannotOpen)
        #expect(await refusal { try await openAndClose(file.path + "/no/such/directory") } == .cannotOpen)
        #expect(await refusal { try await openAndClose("") } == .cannotOpen)
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.path) == [])
        #expect(Set(try contents(besides: file.path).keys) == ["queues.sqlite"])
        #if os(Linux)
        for path in ["/proc/queues.sqlite", "/sys/queues.sqlite"] {
            let code = await refusal { try await openAndClose(path) }
            #expect(code == .cannotOpen || code == .readOnly, "\(path)")
        }
        #expect(await refusal { try await openAndClose("/dev/null") } != nil)
        #endif
    }

    @Test("A link to nowhere is refused, and nothing is created behind it")
    func danglingLink() async throws {
        let file = try TemporaryFile()
        try FileManager.default.createSymbolicLink(
            atPath: file.path,
            withDestinationPath: file.path + "-nowhere"
        )
        #expect(await refusal { try await openAndClose(file.path) } == .cannotOpen)
        #expect(
            try FileManager.default.contentsOfDirectory(
                atPath: URL(fileURLWithPath: file.path)
                    .deletingLastPathComponent().path
            ) == ["queues.sqlite"]
        )
    }

    @Test(
        "The names that SQLite gives a meaning of their own are refused or taken as paths",
        arguments: [
            ":memory:", "file:queues.sqlite", "file::memory:",
        ]
    )
    func specialNames(_ name: String) async throws {
        let file = try TemporaryFile(name: name)
        try await openAndClose(file.path)
        // A full path has no other meaning; a bare name must not become another place than it says.
        #expect(Set(try contents(besides: file.path).keys) == [name])
        try #expect(DatabaseFile.absolutePath(name).hasSuffix("/\(name)"))
        try #expect(DatabaseFile.absolutePath(name).hasPrefix("/"))
        try #expect(DatabaseFile.absolutePath(file.path) == file.path)
    }

    @Test("A new file is its owner's alone also where a file has one name only, as on exFAT")
    func oneName() async throws {
        let file = try TemporaryFile()
        let refuse: (String, String) -> Int32 = { _, _ in
            errno = EPERM
            return -1
        }
        try DatabaseFile.createPrivateFile(file.path, giveName: refuse)
        #expect(try mode(file.path) == 0o600)
        #expect(Set(try contents(besides: file.path).keys) == ["queues.sqlite"])
        // What stands there is left as it is.
        try await openAndClose(file.path)
        let before = try contents(besides: file.path)
        try DatabaseFile.createPrivateFile(file.path, giveName: refuse)
        #expect(try contents(besides: file.path) == before)
    }

    @Test("Every setting that the engine rests on is in effect")
    func settings() async throws {
        let fixture = try await StoreFixture()
        let expected = [
            "journal_mode": "wal", "wal_autocheckpoint": "0", "synchronous": "2", "fullfsync": "1",
            "checkpoint_fullfsync": "1", "journal_size_limit": "67108864", "mmap_size": "0",
            "cache_size": "-65536", "trusted_schema": "0", "foreign_keys": "1", "secure_delete": "0",
            "recursive_triggers": "0", "temp_store": "2", "auto_vacuum": "2", "encoding": "UTF-8",
        ]
        for (name, value) in expected {
            let actual = try await fixture.store.write(sync: .owed) { try $0.connection.pragma(name) }
            #expect(actual == value, "\(name)")
        }
        for (name, value) in ["query_only": "1", "mmap_size": "0", "trusted_schema": "0"] {
            #expect(try await fixture.store.read { try $0.pragma(name) } == value, "\(name)")
        }
    }

    @Test("A lock that another connection holds while the file is opened is the typed error")
    func locked() async throws {
        let file = try TemporaryFile()
        let connection = try Connection(path: file.path, mode: .create)
        try connection.execute("CREATE TABLE own (a); BEGIN EXCLUSIVE")
        let code = await refusal { try await openAndClose(file.path) { $0.file.lockTimeout = .zero } }
        #expect(code == .databaseLocked)
        connection.rollback()
        try await openAndClose(file.path)
    }
}
