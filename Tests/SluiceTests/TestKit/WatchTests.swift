import Foundation
import TestSupport
import Testing

@Suite("A test that does not end", .watched) struct WatchTests {
    @Test("It ends the run, and its name is said")
    func ends() async throws {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let watch = Watch("a test that waits", .milliseconds(1), printsStacks: false)
            try await untilCancelled()
            watch.callOff()
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("watchdog: not over after") && said.contains("a test that waits"), "\(said)")
    }

    @Test("One that ends in time is not")
    func inTime() async {
        await #expect(processExitsWith: .success) {
            let watch = Watch("a test that ends", .seconds(60), printsStacks: false)
            watch.callOff()
        }
    }
}
