import Foundation
import SluiceTestKit
import Testing

@Suite("Temporary files", .timeLimit(.minutes(2))) struct TemporaryFileTests {
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
}
