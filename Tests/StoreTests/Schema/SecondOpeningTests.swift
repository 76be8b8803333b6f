import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Opening a file a second time", .watched)
struct SecondOpeningTests {
    @Test("A file that is open in the process is refused by any of its names, until it is closed")
    func names() async throws {
        let fixture = try await StoreFixture()
        let path = fixture.file.path
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let (symbolic, hard) = (path + "-symbolic", path + "-hard")
        try FileManager.default.createSymbolicLink(atPath: symbolic, withDestinationPath: path)
        try FileManager.default.linkItem(atPath: path, toPath: hard)
        let names = [path, symbolic, hard, directory + "/./queues.sqlite", directory + "//queues.sqlite"]
        for name in names {
            #expect(await refusal { try await openAndClose(name) } == .alreadyOpen, "\(name)")
        }
        // The refusals have not cost the open store its locks.
        try await fixture.store.add("a")
        await fixture.store.close()
        try FileManager.default.removeItem(atPath: hard)
        for name in names where name != hard { try await openAndClose(name) }
    }

    @Test("Of many that open a file at once, one has it")
    func atOnce() async throws {
        let file = try TemporaryFile()
        let path = file.path
        let outcomes = Mutex<(stores: [Store], codes: [SluiceError.Code])>(([], []))
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do throws(SluiceError) {
                let store = try Store(.file(path), options: .on(ManualClock())) { _ in }
                outcomes.withLock { $0.stores.append(store) }
            } catch {
                outcomes.withLock { $0.codes.append(error.code) }
            }
        }
        let (stores, codes) = outcomes.withLock { $0 }
        #expect(stores.count == 1)
        #expect(codes == Array(repeating: .alreadyOpen, count: 7))
        try await stores.first?.add("a")
        await stores.first?.close()
    }

    @Test("Closing twice does not give up the right of a later store")
    func closedTwice() async throws {
        let first = try await StoreFixture()
        await first.store.close()
        let second = try await StoreFixture(file: first.file)
        await first.store.close()
        #expect(await refusal { try await openAndClose(first.file.path) } == .alreadyOpen)
        await second.store.close()
    }

    @Test("Stores in memory are each their own")
    func inMemory() async throws {
        let options = BrokerOptions.on(ManualClock())
        let first = try Store(.memory, options: options) { _ in }
        let second = try Store(.memory, options: options) { _ in }
        try await first.add("a")
        #expect(try await first.actionCount() == 1)
        #expect(try await second.actionCount() == 0)
        for store in [first, second] { await store.close() }
    }
}
