import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A disk that fails under a running broker", .watched) struct FailingDiskTests {
    @Test("G14: a disk that fails when a suspended broker goes on does not stop it")
    func resumed() async throws {
        let site = try Site()
        let disk = try FaultyDisk()
        let broker = try await site.broker { $0.file.vfs = disk.name }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            _ = try await broker.enqueue(Note("first")).settled()
            disk.breakDown()
            // Nothing is committed before the log has been cut.
            #expect(await refusal { try await broker.enqueue(Note("unknown")) } == .unknownCommit)
            await broker.file?.suspend()
            try await broker.file?.resume()
            disk.mend()
            try #require(broker.fileEngine.isRunning)
            // What has failed is tried again when time has passed; when it fails is up to the threads.
            let time = Task {
                while true {
                    try await site.clock.waitForSleeper(untilUptime: site.clock.uptime + .seconds(1))
                    site.clock.advance(by: .seconds(1))
                }
            }
            defer { time.cancel() }
            #expect(try await broker.enqueue(Note("second")).settled() == .succeeded)
        }
        // The other one may have been found in the log when the file was opened again.
        #expect(log.elements.filter { $0 != "unknown" } == ["first", "second"])
        await broker.close()
    }
}
