import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice
@testable import SluiceBackground

@Suite("Background Operations: what goes wrong", .watched) struct BackgroundTroubleTests {
    @Test(
        "G3: a handler that does not heed is left; what it returns is written when there is time again"
    )
    func stubborn() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker) { $0.patience = .zero }
        let (started, end) = (Signal(), Signal())
        defer { end.send() }
        try broker.route("*", Note.self) { _, _ in
            started.send()
            await end.receivedInAnyCase()
            return .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue([Note("1"), Note("2")])
            try await started.received()
            await background.didEnterBackground()
            system.expireExtension()
            let expected: ArraySlice = ["request after 60 s", "end extension, 0 locks"]
            try await #expect(system.log.wait(forCount: 4).suffix(2) == expected)
            #expect(broker.fileEngine.suspension.isOn && broker.statistics.succeeded == 0)
            // The next run begins when the earlier one has ended; nothing starts before.
            system.beginProcessing()
            try await until { !broker.fileEngine.suspension.isOn }
            #expect(started.elements.count == 1)
            end.send()
            try await until { broker.statistics.succeeded == 2 }
            // While the earlier run ends, it is looked at once a second.
            site.clock.advance(by: .seconds(1))
            try await #expect(system.log.wait(forCount: 5).suffix(1) == ["end processing, done, 0 locks"])
        }
        #expect(started.elements.count == 2 && broker.statistics.succeeded == 2)
        await broker.close()
    }

    @Test("With a grace, what runs may finish when the time is over, and nothing more starts")
    func grace() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker) { $0.stopGrace = .seconds(5) }
        let (started, go) = (EventLog<String>(), Signal())
        try broker.route("*", Note.self) { note, _ in
            started.append(note.text)
            try await go.received()
            return .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue([Note("1"), Note("2")])
            _ = try await started.wait(forCount: 1)
            await background.didEnterBackground()
            system.expireExtension()
            try await until { broker.fileEngine.life.withLock { $0.state == .stopping } }
            go.send()
            try await #expect(system.log.wait(forCount: 3)[2] == "request after 60 s")
        }
        #expect(started.elements == ["1"])
        #expect(broker.statistics.succeeded == 1 && broker.statistics.released == 0)
        await broker.close()
    }

    @Test(
        "Where no extension is given it stops at once; where no request is taken it waits for the foreground"
    )
    func refusals() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let attempts = EventLog<Int>()
        let go = Signal()
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            try await go.received()
            return .success
        }
        system.refuses = true
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            _ = try await attempts.wait(forCount: 1)
            await background.didEnterBackground()
            let expected = ["cancel request", "begin extension", "request after 60 s"]
            #expect(system.log.elements == expected)
            #expect(background.state == .asleep && broker.fileEngine.suspension.isOn)
            background.willEnterForeground()
            _ = try await attempts.wait(forCount: 2)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(attempts.elements == [1, 1])
        await broker.close()
    }

    @Test("Processing time that has begun before there was a coordinator is used")
    func launchedForProcessing() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let system = FakeSystem(site)
        system.beginProcessing()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("1"))
        let background = try BackgroundCoordinator(broker, extension: system, processing: system)
        try await following(background) {
            try await #expect(system.log.wait(forCount: 1) == ["end processing, done, 0 locks"])
        }
        #expect(log.elements == ["1"])
        await broker.close()
    }

    @Test("Processing time that is over before it could be used is given back, and asked for again")
    func overAtOnce() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        system.beginProcessing()
        system.expireProcessing()
        let expected = ["request after 60 s", "end processing, not done, 0 locks"]
        try await following(background) {
            try await #expect(system.log.wait(forCount: 2) == expected)
            #expect(broker.fileEngine.suspension.isOn)
        }
        await broker.close()
    }

    @Test("A broker that somebody else has suspended is stopped in time, and taken to hold work")
    func suspendedElsewhere() async throws {
        let site = try Site()
        let broker = try await site.broker()
        // The run of the broker cannot end before it is resumed.
        let (background, system) = try site.background(broker) { $0.patience = .zero }
        try await following(background) {
            background.willEnterForeground()
            try await until { broker.fileEngine.hasLookedAround && broker.fileEngine.workAhead == .none }
            await broker.file?.suspend()
            await background.didEnterBackground()
            #expect(system.log.elements == ["cancel request", "request after 60 s"])
        }
        await broker.close()
    }

    @Test("Until there is time to run, and behind it, the file is let go; what is enqueued waits")
    func waiting() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, _) = try site.background(broker)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await following(background) {
            try await until { broker.fileEngine.suspension.isOn }
            // It returns when that is over.
            await broker.file?.suspend()
            let enqueue = Task { try await broker.enqueue(Note("1")) }
            try await until { broker.fileEngine.store.writer.load.waiting == 1 }
            background.willEnterForeground()
            _ = try await enqueue.value
            _ = try await log.wait(forCount: 1)
        }
        #expect(log.elements == ["1"])
        await broker.close()
    }

    @Test("What ends the broker ends the run, and what the system has given is given back")
    func broken() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let run = Task { try await background.run() }
        try await until { broker.fileEngine.suspension.isOn }
        #expect(rename(path, path + ".gone") == 0)
        system.beginProcessing()
        #expect(await refusal { try await run.value } == .fileReplaced)
        #expect(system.log.elements.map { $0.prefix(24) } == ["end processing, not done"])
        #expect(background.state == .asleep)
        await broker.close()
    }

    @Test("One task runs it at a time; cancelled, it returns when the handlers have, and can be run again")
    func cancelled() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let attempts = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("1"))
        background.willEnterForeground()
        try await following(background) {
            _ = try await attempts.wait(forCount: 1)
            #expect(await refusal { try await background.run() } == .alreadyRunning)
        }
        #expect(
            background.state == .asleep && !broker.fileEngine.suspension.isOn && !broker.fileEngine.isRunning
        )
        try await following(background) {
            background.willEnterForeground()
            _ = try await attempts.wait(forCount: 2)
            await background.didEnterBackground()
        }
        // The extension that was held when it ended.
        #expect(system.log.elements.last?.hasPrefix("end extension") == true)
        #expect(attempts.elements == [1, 1])
        await broker.close()
    }

    @Test("A broker that somebody else stops ends the run without an error")
    func stoppedElsewhere() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, _) = try site.background(broker)
        background.willEnterForeground()
        let run = Task { try await background.run() }
        try await until { broker.fileEngine.life.withLock { $0.state == .running } }
        await broker.stop()
        try await run.value
        #expect(background.state == .asleep)
        await broker.close()
    }

    @Test("Negative times are refused")
    func options() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        for path in [
            \BackgroundOptions.processingDelay, \.longestPause, \.stopGrace, \.patience,
        ] {
            #expect(
                await refusal { _ = try site.background(broker) { $0[keyPath: path] = .seconds(-1) } }
                    == .invalidOptions
            )
        }
        await broker.close()
    }
}
