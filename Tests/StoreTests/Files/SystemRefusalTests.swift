import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What the operating system refuses", .watched) struct SystemRefusalTests {
    @Test(
        "The advice fits the system's error, and speaks of permissions where they are at fault alone",
        arguments: [
            (EMFILE, SluiceError.Code.cannotOpen, "ulimit -n"), (ENFILE, .cannotOpen, "the machine"),
            (ENOENT, .cannotOpen, "directory exists"), (ENAMETOOLONG, .cannotOpen, "shorter path"),
            (ENOMEM, .outOfMemory, "memory"), (ENOSPC, .diskFull, "free some space"),
            (EROFS, .readOnly, "read-only"), (EIO, .inputOutput, "disk"),
            (EACCES, .cannotOpen, "check the permissions"), (EPERM, .cannotOpen, "check the permissions"),
        ]
    )
    func advice(number: Int32, code: SluiceError.Code, words: String) {
        let refusal = SQLiteError(
            code: .cannotOpen,
            message: "unable to open database file",
            systemErrno: number
        )
        let error = SluiceError(refusal, doing: "opening q.sqlite")
        #expect(error.code == code)
        #expect(error.message.contains(words), "\(error)")
        let isOfPermissions = number == EACCES || number == EPERM
        #expect(error.message.contains("permissions") == isOfPermissions, "\(error)")
    }

    @Test(
        "A path that is too long for SQLite is refused as that, and nothing is made; a shorter one is taken"
    )
    func longPath() async throws {
        let file = try TemporaryFile()
        let base = try #require(realpath((file.path as NSString).deletingLastPathComponent, nil))
        defer { free(base) }
        var directory = String(cString: base)
        while directory.utf8.count + 150 < DatabaseFile.longestPath {
            directory += "/" + String(repeating: "d", count: 99)
        }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        func path(_ count: Int) -> String {
            "\(directory)/" + String(repeating: "q", count: count - directory.utf8.count - 1)
        }
        let longest = path(DatabaseFile.longestPath)
        let broker = try await Broker(file: longest)
        try await broker.enqueue(raw: [RawAction(queue: "q", kind: "k", payload: "1")])
        await broker.close()
        let tooLong = path(DatabaseFile.longestPath + 1)
        do throws(SluiceError) {
            _ = try await Broker(file: tooLong)
            Issue.record("it was opened")
        } catch {
            #expect(error.code == .cannotOpen)
            #expect(error.message.contains("505 bytes") && !error.message.contains("permission"), "\(error)")
        }
        #expect(!FileManager.default.fileExists(atPath: tooLong))
    }
}
