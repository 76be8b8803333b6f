import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Commits of other processes while a broker runs, on a clock that stands still: what is noticed without its
/// being moved was noticed without polling.
@Suite("Commits of other processes", .watched)
struct ForeignCommitTests {
    private static func insert(_ text: String) -> String {
        "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '{\"text\":\"\(text)\"}')"
    }

    /// Deadlines that the engine has slept for.
    private final class RecordingClock: BrokerClock {
        let clock = ManualClock()
        let deadlines = EventLog<Duration>()

        var wallMicroseconds: Int64 { clock.wallMicroseconds }
        var uptime: Duration { clock.uptime }

        func sleep(untilUptime deadline: Duration) async throws {
            deadlines.append(deadline)
            try await clock.sleep(untilUptime: deadline)
        }
    }

    #if os(Linux) || canImport(Darwin)
    @Test("G11: an INSERT by another process starts a handler though nobody polls, again and again")
    func watch() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let shell = SQLShell(try #require(site.file).path)
        try await running(broker) {
            for count in 1...5 {
                await broker.waitUntilIdle()
                try await shell.run(Self.insert("\(count)"))
                try await #expect(log.wait(forCount: count) == (1...count).map(String.init))
            }
            #expect(try #require(broker.fileEngine.wakeUps).isWatching)
        }
        #expect(try #require(broker.fileEngine.wakeUps).isWatching == false)
        #expect(site.clock.uptime == .zero)
        await broker.close()
    }

    @Test("G11: another process may cut the log meanwhile")
    func truncation() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let shell = SQLShell(try #require(site.file).path)
        try await running(broker) {
            await broker.waitUntilIdle()
            for count in 1...3 {
                try await until { try await shell.run("PRAGMA wal_checkpoint(TRUNCATE)") == ["0|0|0"] }
                let path = try #require(site.file).path + "-wal"
                #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 0)
                try await shell.run(Self.insert("\(count)"))
                try await #expect(log.wait(forCount: count).last == "\(count)")
                await broker.waitUntilIdle()
            }
        }
        await broker.close()
    }

    @Test("G11: a file that is opened by a symbolic link has its log beside the file itself")
    func symbolicLink() async throws {
        let (file, links) = (try TemporaryFile(), try TemporaryFile(name: "link.sqlite"))
        try await openAndClose(file.path)
        try FileManager.default.createSymbolicLink(atPath: links.path, withDestinationPath: file.path)
        var options = BrokerOptions.on(ManualClock())
        options.file.foreignChangeInterval = .seconds(3_600)
        let broker = try await Broker(file: links.path, options: options)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            await broker.waitUntilIdle()
            try await SQLShell(file.path).run(Self.insert("a"))
            try await #expect(log.wait(forCount: 1) == ["a"])
        }
        await broker.close()
    }

    @Test("Beside the watch the broker looks once a second and not more often")
    func safetyNet() async throws {
        let file = try TemporaryFile()
        let clock = RecordingClock()
        var options = BrokerOptions()
        options.clock = clock
        options.file.durability = .everything
        let broker = try await Broker(file: file.path, options: options)
        try await running(broker) {
            await broker.waitUntilIdle()
            try await until { broker.fileEngine.wakeUps?.isWatching == true }
            for time in [Duration.milliseconds(100), .milliseconds(1_100), .milliseconds(2_100)] {
                try await until { clock.deadlines.elements.contains(time) }
                clock.clock.advance(by: time - clock.uptime)
            }
            try await until { clock.deadlines.elements.contains(.milliseconds(3_100)) }
        }
        let early = clock.deadlines.elements.filter { $0 > .zero && $0 < .seconds(10) }
        #expect(
            early == [.milliseconds(100), .milliseconds(1_100), .milliseconds(2_100), .milliseconds(3_100)]
        )
        await broker.close()
    }

    @Test("G12: a run takes one descriptor for its watch, and gives it back")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let file = try TemporaryFile()
            let broker = try await Broker(file: file.path, options: .on(ManualClock()))
            for _ in 0..<5 {
                try await running(broker) {
                    try await until { broker.fileEngine.wakeUps?.isWatching == true }
                    try #require(watchCount() == 1)
                }
                try #require(watchCount() == 0)
            }
            let count = try descriptorCount()
            try await running(broker) { try await until { broker.fileEngine.wakeUps?.isWatching == true } }
            try #require(descriptorCount() == count)
            await broker.close()
        }
    }
    #endif

    @Test("G11: without a watch the broker polls, by its own clock")
    func polling() async throws {
        let site = try Site()
        let broker = try await site.broker {
            $0.file.watchesWAL = false
            $0.file.foreignChangeInterval = .milliseconds(100)
        }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let shell = SQLShell(try #require(site.file).path)
        try await running(broker) {
            for count in 1...3 {
                await broker.waitUntilIdle()
                try await shell.run(Self.insert("\(count)"))
                try await site.clock.waitForSleeper(untilUptime: .milliseconds(100 * count))
                site.clock.advance(by: .milliseconds(100))
                try await #expect(log.wait(forCount: count).last == "\(count)")
                #expect(try #require(broker.fileEngine.wakeUps).isWatching == false)
            }
        }
        await broker.close()
    }

    @Test("The writer counts each turn in which it reads what others have committed, and no other")
    func turns() async throws {
        let fixture = try await StoreFixture()
        let start = fixture.store.turns.count
        try await fixture.store.readForeignChanges()
        #expect(fixture.store.turns.count == start + 1)
        await #expect(throws: SluiceError.self) {
            try await fixture.store.write(sync: .later) { _ in throw TestError("rolled back") }
        }
        #expect(fixture.store.turns.count == start + 1)
    }

    @Test("A look sees what another connection has logged, until the writer takes it in")
    func look() async throws {
        let fixture = try await StoreFixture()
        let lookout = try #require(fixture.store.lookout)
        func look() throws -> Bool { try lookout.queue.sync { try lookout.hasForeignChanges() } }
        #expect(try !look())
        try await fixture.store.add("q")
        #expect(try !look())
        try fixture.execute(Self.insert("a"))
        #expect(try look())
        try await fixture.store.readForeignChanges()
        #expect(try !look())
    }

    @Test("In memory there is no other connection, and nothing is watched")
    func inMemory() async throws {
        let broker = try await Site(.memory).broker()
        #expect(broker.fileEngine.wakeUps == nil)
        await broker.close()
    }
}

#if os(Linux)
/// The descriptors of this process.
private func descriptors() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
}

private func descriptorCount() throws -> Int { try descriptors().count }

/// How many of them are inotify's.
private func watchCount() throws -> Int {
    try descriptors().count { descriptor in
        let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/fd/\(descriptor)"
        )
        return target?.contains("inotify") == true
    }
}
#endif
