import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@Suite("Copies of whole databases", .watched) struct BackupTests {
    private func filled(_ rows: Int) throws -> (file: TemporaryFile, connection: Connection) {
        let file = try TemporaryFile()
        let connection = try Connection(path: file.path, mode: .create)
        try connection.set(Pragma("journal_mode", "WAL"))
        try connection.execute("CREATE TABLE t (a)")
        try connection.immediate {
            for _ in 0..<rows { try connection.execute("INSERT INTO t VALUES (zeroblob(3000))") }
        }
        return (file, connection)
    }

    @Test("A copy in a snapshot is of its moment, and writes go on without having it begin anew")
    func snapshot() throws {
        let (file, writer) = try filled(200)
        let reader = try Connection(path: file.path, mode: .read)
        let copy = try TemporaryFile()
        let destination = try Connection(path: copy.path, mode: .create)
        var steps = 0
        var remaining = Int.max
        try reader.snapshot {
            _ = try reader.pragma("schema_version")
            try reader.copy(to: destination, pagesAtATime: 5) { left in
                steps += 1
                // A copy that began anew would have as much left as before.
                #expect(left < remaining)
                remaining = left
                try writer.execute("INSERT INTO t VALUES (zeroblob(3000))")
            }
        }
        #expect(steps > 20)
        destination.close()
        let found = try Connection(path: copy.path, mode: .write)
        #expect(try found.prepare("SELECT count(*) FROM t").first { $0.int(0) } == 200)
        #expect(try found.pragma("integrity_check") == "ok")
    }

    @Test("What the step throws ends the copy, and both connections can be used")
    func ended() throws {
        let (file, writer) = try filled(50)
        let destination = try Connection(path: ":memory:", mode: .create)
        #expect(throws: Refused.self) {
            try writer.copy(to: destination, pagesAtATime: 5) { _ in throw Refused() }
        }
        try writer.copy(to: destination, pagesAtATime: 5)
        #expect(try destination.prepare("SELECT count(*) FROM t").first { $0.int(0) } == 50)
        withExtendedLifetime(file) {}
    }

    @Test("An immutable file is read without a file beside it, whatever its name")
    func immutable() throws {
        let file = try TemporaryFile(name: "50% of? all#queues ü.sqlite")
        let connection = try Connection(path: file.path, mode: .create)
        try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (7)")
        try connection.set(Pragma("journal_mode", "WAL"))
        connection.close()
        let reader = try Connection(path: file.path, mode: .immutable)
        #expect(try reader.prepare("SELECT a FROM t").first { $0.int(0) } == 7)
        #expect(throws: SQLiteError.self) { try reader.execute("INSERT INTO t VALUES (8)") }
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 1)
    }
}

private struct Refused: Error {}
