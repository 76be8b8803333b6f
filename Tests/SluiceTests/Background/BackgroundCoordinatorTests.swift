import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice
@testable import SluiceBackground

@Suite("Background Operations: the coordinator", .watched) struct BackgroundCoordinatorTests {
    @Test("It asks for an extension, then for processing time as long as work is left, then for nothing")
    func wholeRow() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let (attempts, go) = (EventLog<Int>(), Signal())
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            try await go.received()
            return .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue([Note("1"), Note("2")])
            _ = try await attempts.wait(forCount: 1)
            await background.didEnterBackground()
            #expect(background.state == .extended)
            system.expireExtension()
            let first = ["cancel request", "begin extension", "request after 60 s", "end extension, 0 locks"]
            try await #expect(system.log.wait(forCount: 4) == first)
            #expect(background.state == .awaitingProcessing && broker.fileEngine.suspension.isOn)

            system.beginProcessing()
            _ = try await attempts.wait(forCount: 2)
            #expect(background.state == .processing)
            system.expireProcessing()
            let again: ArraySlice = ["request after 60 s", "end processing, not done, 0 locks"]
            try await #expect(system.log.wait(forCount: 6).suffix(2) == again)

            system.beginProcessing()
            _ = try await attempts.wait(forCount: 3)
            go.send()
            try await #expect(system.log.wait(forCount: 7).suffix(1) == ["end processing, done, 0 locks"])
            #expect(background.state == .asleep)
        }
        // What was stopped in time has cost no attempt.
        #expect(attempts.elements == [1, 1, 1, 1])
        #expect(broker.statistics.released == 2 && broker.statistics.succeeded == 2)
        #expect(system.log.elements.count == 7)
        await broker.close()
    }

    @Test("With nothing in progress it asks for no extension; with nothing left it asks for nothing at all")
    func atRest() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            _ = try await log.wait(forCount: 1)
            try await until { broker.fileEngine.workAhead == .none }
            await background.didEnterBackground()
            #expect(background.state == .asleep && broker.fileEngine.suspension.isOn)
            #if os(Linux)
            #expect(try heldLocks(on: #require(site.file).path) == [])
            #endif
            // It is called again for nothing, and what was never asked for does not matter.
            await background.didEnterBackground()
            system.expireExtension()
            system.expireProcessing()
            #expect(background.state == .asleep)
        }
        #expect(system.log.elements == ["cancel request"])
        await broker.close()
    }

    @Test("What a push has enqueued while the application slept has processing time asked for")
    func push() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await following(background) {
            background.willEnterForeground()
            try await until { broker.fileEngine.workAhead == .none }
            await background.didEnterBackground()
            #expect(background.state == .asleep)
            // As the system wakes the application for a push, and nothing is enqueued.
            try await broker.file?.resume()
            await broker.file?.suspend()
            #expect(background.state == .asleep)
            try await broker.file?.resume()
            try await broker.enqueue(Note("from the push"))
            await broker.file?.suspend()
            #expect(background.state == .awaitingProcessing)
            #expect(system.log.elements == ["cancel request", "request after 60 s"])
            system.beginProcessing()
            _ = try await log.wait(forCount: 1)
        }
        #expect(log.elements == ["from the push"])
        await broker.close()
    }

    @Test("A long wait for a retry is no work in progress: processing time is asked for when it is due")
    func longWait() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let attempts = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            return attempt.number == 1 ? .retry(after: .seconds(600)) : .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            try await until { broker.fileEngine.workAhead == .later(.seconds(600)) }
            await background.didEnterBackground()
            #expect(background.state == .awaitingProcessing)
            #expect(system.log.elements == ["cancel request", "request after 600 s"])
            site.clock.advance(by: .seconds(600))
            system.beginProcessing()
            try await #expect(system.log.wait(forCount: 3).suffix(1) == ["end processing, done, 0 locks"])
        }
        #expect(attempts.elements == [1, 2])
        await broker.close()
    }

    @Test("What is scheduled for later is asked time for, and runs in it")
    func scheduled() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await following(background) {
            background.willEnterForeground()
            let time = (site.clock.now + .seconds(86_400)).date
            try await broker.enqueue(Note("1"), EnqueueOptions(notBefore: time))
            try await until { broker.fileEngine.workAhead == .later(.seconds(86_400)) }
            // Each minute it is looked at again, and the moments before are like all others.
            site.clock.advance(by: .seconds(57))
            #expect(broker.fileEngine.workAhead == .later(.seconds(86_343)))
            await background.didEnterBackground()
            #expect(system.log.elements == ["cancel request", "request after 86343 s"])
            site.clock.advance(by: .seconds(86_343))
            system.beginProcessing()
            try await #expect(system.log.wait(forCount: 3).suffix(1) == ["end processing, done, 0 locks"])
        }
        #expect(log.elements == ["1"])
        await broker.close()
    }

    @Test("A minute later it still knows when what is scheduled is due, and what comes earlier counts")
    func scheduledAgain() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.route("*", Note.self) { _, _ in .success }
        @Sendable func enqueue(after seconds: Int64) async throws {
            let time = (site.clock.now + .seconds(seconds)).date
            try await broker.enqueue(Note("\(seconds)"), EnqueueOptions(notBefore: time))
        }
        try await running(broker) {
            try await enqueue(after: 3_600)
            try await until { broker.fileEngine.workAhead == .later(.seconds(3_600)) }
            site.clock.advance(by: .seconds(60))
            try await until { broker.fileEngine.workAhead == .later(.seconds(3_540)) }
            try await enqueue(after: 90)
            try await until { broker.fileEngine.workAhead == .later(.seconds(90)) }
        }
        #expect(broker.statistics.started == 0)
        await broker.close()
    }

    @Test("What is due behind the end of the time is not waited for, where that end is known")
    func timeLeft() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker) { $0.longestPause = .seconds(1_000) }
        let attempts = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            return attempt.number < 3 ? .retry(after: .seconds(attempt.number == 1 ? 20 : 30)) : .success
        }
        try await broker.enqueue(Note("1"))
        let end = site.clock.uptime + .seconds(25)
        system.end(at: end, by: site.clock)
        try await following(background) {
            system.beginProcessing()
            try await until { broker.fileEngine.workAhead == .later(.seconds(20)) }
            // 20 of 25 seconds are waited for…
            site.clock.advance(by: .seconds(20))
            _ = try await attempts.wait(forCount: 2)
            // …and 30 of 5 are not.
            try await until {
                broker.fileEngine.workAhead == .later(.seconds(30)) || broker.fileEngine.suspension.isOn
            }
            site.clock.advance(by: .seconds(1))
            let log = try await system.log.wait(forCount: 2)
            #expect(["request after 60 s", "request after 29 s"].contains(log[0]))
            #expect(log[1] == "end processing, done, 0 locks")
        }
        #expect(attempts.elements == [1, 2])
        await broker.close()
    }

    @Test("A short wait is work in progress, and the extension is given back as soon as it is done")
    func shortWait() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        try broker.route("*", Note.self) { _, attempt in
            attempt.number == 1 ? .retry(after: .seconds(3)) : .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            try await until { broker.fileEngine.workAhead == .later(.seconds(3)) }
            await background.didEnterBackground()
            #expect(background.state == .extended)
            site.clock.advance(by: .seconds(3))
            let expected = ["cancel request", "begin extension", "end extension, 0 locks"]
            try await #expect(system.log.wait(forCount: 3) == expected)
            #expect(background.state == .asleep)
        }
        #expect(broker.statistics.succeeded == 1)
        await broker.close()
    }

    @Test("In the background it stops when the rest is far away, and asks for time when that is due")
    func restFarAway() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let (started, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await go.received()
            return .retry(after: .seconds(3_600))
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            try await started.received()
            await background.didEnterBackground()
            go.send()
            try await until { broker.fileEngine.workAhead == .later(.seconds(3_600)) }
            site.clock.advance(by: .seconds(1))
            let log = try await system.log.wait(forCount: 4)
            // With or without the second that has passed.
            #expect(["request after 3599 s", "request after 3600 s"].contains(log[2]))
            #expect(log[3] == "end extension, 0 locks")
        }
        await broker.close()
    }

    @Test("A return to the foreground takes the request back and runs at once")
    func returns() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (background, system) = try site.background(broker)
        let (attempts, go) = (EventLog<Int>(), Signal())
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            try await go.received()
            return .success
        }
        try await following(background) {
            background.willEnterForeground()
            try await broker.enqueue(Note("1"))
            _ = try await attempts.wait(forCount: 1)
            await background.didEnterBackground()
            // Under the extension what runs runs on.
            background.willEnterForeground()
            try await #expect(system.log.wait(forCount: 3).suffix(2).first == "begin extension")
            #expect(background.state == .foreground && broker.statistics.released == 0)
            await background.didEnterBackground()
            system.expireExtension()
            _ = try await system.log.wait(forCount: 6)
            background.willEnterForeground()
            try await #expect(system.log.wait(forCount: 7).suffix(1) == ["cancel request"])
            _ = try await attempts.wait(forCount: 2)
            // So it does in processing time.
            await background.didEnterBackground()
            system.expireExtension()
            _ = try await system.log.wait(forCount: 10)
            system.beginProcessing()
            _ = try await attempts.wait(forCount: 3)
            background.willEnterForeground()
            let last = try await system.log.wait(forCount: 11).suffix(1)
            #expect(last.first?.hasPrefix("end processing, done") == true)
            #expect(background.state == .foreground)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(attempts.elements == [1, 1, 1])
        #expect(broker.statistics.released == 2 && broker.statistics.succeeded == 1)
        await broker.close()
    }
}
