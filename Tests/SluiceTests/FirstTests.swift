import Sluice
import SluiceTestKit
import Testing

@Suite struct FirstTests {
    @Test("an action is run") func runs() async throws {
        let file = try TemporaryFile()
        let broker = try await Broker(file: file.path)
        let log = EventLog<String>()
        try broker.route("notes", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await broker.enqueue((0..<1000).map { Note("\($0)", in: "notes") })
        try await running(broker) {
            _ = await log.wait(forCount: 1001)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a"] + (0..<1000).map { "\($0)" })
        #expect(try await broker.actionCount() == 0)
        await broker.close()
    }

    @Test("many queues") func queues() async throws {
        let file = try TemporaryFile()
        let broker = try await Broker(file: file.path)
        let log = EventLog<String>()
        try broker.route("q/*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await running(broker) {
            let clock = ContinuousClock()
            let t = try await clock.measure {
                for base in 0..<20 {
                    try await broker.enqueue((0..<1000).map { Note("\(base) \($0)", in: "q/\($0)") })
                }
            }
            let t2 = await clock.measure {
                await broker.waitUntilIdle()
            }
            print(t, t2)
        }
        #expect(log.elements.count == 20000)
        await broker.close()
    }

    @Test("retry waits on the clock") func retry() async throws {
        let clock = ManualClock()
        let broker = try await Broker(inMemory: .on(clock))
        let log = EventLog<Int>()
        try broker.route("notes", Note.self) { note, attempt in
            log.append(attempt.number)
            return attempt.number < 3 ? .retry(after: .seconds(10)) : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            _ = await log.wait(forCount: 1)
            await clock.waitForSleeper(untilUptime: .seconds(10))
            clock.advance(by: .seconds(10))
            _ = await log.wait(forCount: 2)
            await clock.waitForSleeper(untilUptime: .seconds(20))
            clock.advance(by: .seconds(10))
            _ = await log.wait(forCount: 3)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == [1, 2, 3])
    }
}
