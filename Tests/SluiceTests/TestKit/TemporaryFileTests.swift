import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@Suite("Temporary files", .watched) struct TemporaryFileTests {
    @Test("A directory goes with its value, though files in it vanish meanwhile")
    func vanishing() throws {
        for _ in 0..<50 {
            var file: TemporaryFile? = try TemporaryFile()
            let path = try #require(file?.path)
            let paths = (0..<40).map { "\(path)-\($0)" }
            for path in paths { try Data().write(to: URL(fileURLWithPath: path)) }
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                for path in paths { unlink(path) }
                done.signal()
            }
            file = nil
            done.wait()
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
            #expect(!FileManager.default.fileExists(atPath: directory))
        }
    }

    @Test("A process that exits while another thread removes a directory leaves nothing of it")
    func exit() async throws {
        let result = try await #require(
            processExitsWith: .success,
            observing: [\.standardOutputContent]
        ) {
            let file = Mutex<TemporaryFile?>(try TemporaryFile())
            let path = try #require(file.withLock { $0?.path })
            let paths = (0..<2_000).map { "\(path)-\($0)" }
            for path in paths { try Data().write(to: URL(fileURLWithPath: path)) }
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
            print("directory: \(directory)")
            Thread.detachNewThread { file.withLock { $0 = nil } }
            // A removal has begun when the first of the files has gone.
            while access(directory, F_OK) == 0, paths.allSatisfy({ access($0, F_OK) == 0 }) { sched_yield() }
            Foundation.exit(EXIT_SUCCESS)
        }
        let lines = String(decoding: result.standardOutputContent, as: UTF8.self).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("directory: ") })
        let directory = String(line.dropFirst("directory: ".count))
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
