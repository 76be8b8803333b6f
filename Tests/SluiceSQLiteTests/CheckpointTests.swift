import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@Suite("Checkpoints", .watched)
struct CheckpointTests {
    private func walSize(_ file: SharedFile) throws -> Int {
        try #require(
            FileManager.default.attributesOfItem(atPath: file.file.path + "-wal")[.size] as? Int
        )
    }

    @Test("A passive checkpoint copies everything when nobody reads")
    func passive() throws {
        let file = try SharedFile()
        let connection = try file.connect()
        try connection.insert(.integer(1))
        let result = try connection.checkpoint(.passive)
        #expect(result.frames > 0)
        #expect(result.copied == result.frames)
        #expect(!result.wasBlocked)
    }

    @Test("A passive checkpoint stops at what a reader still needs, and is not blocked by it")
    func passiveWithReader() throws {
        let file = try SharedFile()
        let (writer, reader) = (try file.connect(), try file.connect())
        try writer.insert(.integer(1))
        try reader.snapshot {
            _ = try reader.values()
            try writer.insert(.integer(2))
            let result = try writer.checkpoint(.passive)
            #expect(result.copied < result.frames)
            #expect(!result.wasBlocked)
        }
        let result = try writer.checkpoint(.passive)
        #expect(result.copied == result.frames)
    }

    @Test("A truncating checkpoint is blocked by a reader, and cuts the log to nothing without one")
    func truncate() throws {
        let file = try SharedFile()
        let (writer, reader) = (try file.connect(), try file.connect())
        try writer.insert(.integer(1))
        try reader.snapshot {
            _ = try reader.values()
            try writer.insert(.integer(2))
            #expect(try writer.checkpoint(.truncate).wasBlocked)
            #expect(try walSize(file) > 0)
        }
        let result = try writer.checkpoint(.truncate)
        #expect(result.frames == 0 && result.copied == 0 && !result.wasBlocked)
        #expect(try walSize(file) == 0)
        #expect(try reader.values() == [.integer(1), .integer(2)])
    }

    @Test("A truncating checkpoint is blocked by another writer")
    func truncateWithWriter() throws {
        let file = try SharedFile()
        let (first, second) = (try file.connect(), try file.connect())
        try first.insert(.integer(1))
        try second.beginImmediate()
        #expect(try first.checkpoint(.truncate).wasBlocked)
    }

    @Test("The frames of the log are counted after each commit, and nothing checkpoints by itself")
    func frames() throws {
        let file = try SharedFile()
        let connection = try file.connect()
        connection.countWALFrames()
        #expect(connection.walFrames == 0)
        for number in 1...1_200 { try connection.insert(.integer(Int64(number))) }
        // SQLite's own default would have begun the log anew at 1,000.
        #expect(connection.walFrames >= 1_200)
        #expect(try connection.checkpoint(.passive).frames == connection.walFrames)
        try connection.insert(.integer(0))
        #expect(connection.walFrames < 10)
    }

    @Test("The last close copies the log and removes it")
    func close() throws {
        let file = try SharedFile()
        let (first, second) = (try file.connect(), try file.connect())
        try first.insert(.integer(1))
        first.close()
        #expect(try walSize(file) > 0)
        second.close()
        #expect(!FileManager.default.fileExists(atPath: file.file.path + "-wal"))
        #expect(try file.connect().values() == [.integer(1)])
    }
}
