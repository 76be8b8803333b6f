import Dispatch
import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Wake-ups on a plain file that stands for a log, with looks that the test scripts.
private struct Rig {
    /// What the looks see, and what became of it.
    final class Script: Sendable {
        let looks = EventLog<Bool>()
        let takenIn = Signal()
        /// How many looks are too early before one sees something; `nil`: there is nothing to be seen.
        private let tooEarly = Mutex<Int?>(nil)

        /// Something becomes visible after as many looks.
        func becomeVisible(afterLooks count: Int) { tooEarly.withLock { $0 = count } }

        func look() -> Bool {
            let sees = tooEarly.withLock { count -> Bool in
                guard let left = count else { return false }
                count = left > 0 ? left - 1 : nil
                return left == 0
            }
            looks.append(sees)
            return sees
        }
    }

    let file: TemporaryFile
    let script = Script()
    let wakeUps: WakeUps

    init(
        fileExists: Bool = true,
        place: any WorkPlace = SystemPlace(),
        _ change: (inout WakeUps.Delegate) -> Void = { _ in }
    ) throws {
        let file = try TemporaryFile(name: "log")
        self.file = file
        var delegate = WakeUps.Delegate(
            walPath: { file.path },
            look: { [script] in script.look() },
            takeIn: { [script] completion in
                script.takenIn.send()
                completion()
            },
            turns: { 0 }
        )
        change(&delegate)
        wakeUps = WakeUps(place, DispatchQueue(label: "test"), delegate)
        if fileExists { try create() }
    }

    private var url: URL { URL(fileURLWithPath: file.path) }

    func create() throws { try Data("header".utf8).write(to: url) }

    func remove() throws { try FileManager.default.removeItem(at: url) }

    /// Another file takes the path.
    func replace() throws {
        let other = url.appendingPathExtension("other")
        try Data("header".utf8).write(to: other)
        guard rename(other.path, file.path) == 0 else { throw TestError("rename: \(errno)") }
    }

    func write() throws {
        let handle = try FileHandle(forWritingTo: url)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("frame".utf8))
        try handle.close()
    }

    func truncate() throws {
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: 0)
        try handle.close()
    }

    /// Returns when the looks that follow an event are over: from then on only another event has it look.
    func settle(after event: () throws -> Void) async throws {
        let looks = script.looks.elements.count
        try event()
        _ = try await script.looks.wait(forCount: looks + 1)
        try await until { await wakeUps.isQuiet() }
    }
}

#if os(Linux) || canImport(Darwin)
@Suite("The watch on the log", .watched)
struct WakeUpsTests {
    @Test("G11: what becomes visible only after the last write to the log is seen", arguments: [0, 1])
    func lateVisibility(tooEarly: Int) async throws {
        let rig = try Rig()
        try await rig.settle { rig.wakeUps.start() }
        #expect(rig.script.takenIn.elements.isEmpty)
        let looks = rig.script.looks.elements.count
        rig.script.becomeVisible(afterLooks: tooEarly)
        try rig.write()
        try await rig.script.takenIn.received()
        #expect(rig.script.looks.elements.count > looks + tooEarly)
        await rig.wakeUps.stop()
    }

    @Test("G11: what comes behind the writer's turn, before that is known to be over, is looked for again")
    func behindTheTurn() async throws {
        let isThere = Atomic(false)
        let turns = EventLog<@Sendable () -> Void>()
        let rig = try Rig { delegate in
            delegate.look = { isThere.load(ordering: .acquiring) }
            delegate.takeIn = { completion in
                isThere.store(false, ordering: .releasing)
                turns.append(completion)
            }
        }
        rig.wakeUps.start()
        isThere.store(true, ordering: .releasing)
        _ = try await rig.wakeUps.poll()
        let first = try await turns.wait(forCount: 1)[0]
        isThere.store(true, ordering: .releasing)
        _ = try await rig.wakeUps.poll()
        try await until { await rig.wakeUps.isQuiet() }
        #expect(turns.elements.count == 1)
        first()
        _ = try await turns.wait(forCount: 2)
        await rig.wakeUps.stop()
    }

    @Test("G11: the watch survives that its log is cut to nothing")
    func truncation() async throws {
        let rig = try Rig()
        try await rig.settle { rig.wakeUps.start() }
        try await rig.settle { try rig.truncate() }
        #expect(rig.script.takenIn.elements.isEmpty)
        rig.script.becomeVisible(afterLooks: 0)
        try rig.write()
        try await rig.script.takenIn.received()
        #expect(rig.wakeUps.isWatching)
        await rig.wakeUps.stop()
    }

    @Test("G11: when another file takes the log's place, that is watched")
    func replacement() async throws {
        let rig = try Rig()
        try await rig.settle { rig.wakeUps.start() }
        try await rig.settle { try rig.replace() }
        rig.script.becomeVisible(afterLooks: 0)
        try rig.write()
        try await rig.script.takenIn.received()
        #expect(rig.wakeUps.isWatching)
        await rig.wakeUps.stop()
    }

    @Test("G11: while there is no log to be watched polling must do, which sets the watch when there is one")
    func missing() async throws {
        let rig = try Rig(fileExists: false)
        rig.wakeUps.start()
        #expect(try await !rig.wakeUps.poll())
        #expect(!rig.wakeUps.isWatching)
        rig.script.becomeVisible(afterLooks: 0)
        #expect(try await rig.wakeUps.poll())
        try rig.create()
        _ = try await rig.wakeUps.poll()
        #expect(rig.wakeUps.isWatching)
        try await until { await rig.wakeUps.isQuiet() }
        rig.script.becomeVisible(afterLooks: 0)
        try rig.write()
        try await rig.script.takenIn.received()
        try rig.remove()
        try await until { !rig.wakeUps.isWatching }
        try rig.create()
        _ = try await rig.wakeUps.poll()
        #expect(rig.wakeUps.isWatching)
        await rig.wakeUps.stop()
    }

    @Test("G11: where the system gives no watch each poll asks again, until the end", arguments: [0, 1, 5])
    func exhausted(refusals: Int) async throws {
        let asked = EventLog<Bool>()
        let place = ScarcePlace {
            let isGiven = asked.elements.count >= refusals
            asked.append(isGiven)
            return isGiven
        }
        let rig = try Rig(place: place)
        // Before the start nobody wants one.
        _ = try await rig.wakeUps.poll()
        #expect(asked.elements.isEmpty)
        rig.wakeUps.start()
        for _ in 0..<refusals {
            #expect(!rig.wakeUps.isWatching)
            _ = try await rig.wakeUps.poll()
        }
        try await until { rig.wakeUps.isWatching }
        #expect(asked.elements == Array(repeating: false, count: refusals) + [true])
        try await until { await rig.wakeUps.isQuiet() }
        rig.script.becomeVisible(afterLooks: 0)
        try rig.write()
        try await rig.script.takenIn.received()
        await rig.wakeUps.stop()
        _ = try await rig.wakeUps.poll()
        #expect(asked.elements.count == refusals + 1)
    }

    @Test("After its end the watch tells of nothing, until it is begun anew")
    func restart() async throws {
        let rig = try Rig()
        try await rig.settle { rig.wakeUps.start() }
        await rig.wakeUps.stop()
        #expect(!rig.wakeUps.isWatching)
        let looks = rig.script.looks.elements.count
        try rig.write()
        // The queue has had its turn.
        await rig.wakeUps.stop()
        #expect(rig.script.looks.elements.count == looks)
        rig.script.becomeVisible(afterLooks: 0)
        rig.wakeUps.start()
        try await rig.script.takenIn.received()
        try await until { rig.wakeUps.isWatching }
        await rig.wakeUps.stop()
    }
}
#endif

/// The system's place, which gives a watch when it is told to.
private final class ScarcePlace: WorkPlace {
    private let system = SystemPlace()
    private let gives: @Sendable () -> Bool

    init(_ gives: @escaping @Sendable () -> Bool) { self.gives = gives }

    var now: Duration { system.now }
    func spread(_ time: Duration) -> Duration { system.spread(time) }
    func sleep(for time: Duration) async throws { try await system.sleep(for: time) }
    func queue(_ label: String, isUrgent: Bool) -> any WorkQueue { system.queue(label, isUrgent: isUrgent) }
    func signal() -> any WorkSignal { system.signal() }

    func watch(
        _ path: String,
        on queue: any WorkQueue,
        fired: @escaping @Sendable () -> Void
    ) -> (any WorkWatch)? { gives() ? system.watch(path, on: queue, fired: fired) : nil }
}
