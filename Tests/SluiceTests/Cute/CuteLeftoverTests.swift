import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What a handle finds where nobody has cleared up: what is due or has expired, and what a process has left.
@Suite("Cute: with no broker that runs", .watched) struct CuteLeftoverTests {
    @Test("G2: Cute: of many that are due the first of the order is taken out, as it is shown")
    func manyDue() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let count = 1_100
        for number in 0..<count {
            let time = (site.clock.now + .seconds(count - number)).date
            try await jobs.add(Note("\(number)"), EnqueueOptions(notBefore: time))
        }
        site.clock.advance(by: .seconds(count))
        try await #expect(jobs.peek()?.action.text == "0")
        let first = try #require(try await jobs.removeNext())
        #expect(first.action.text == "0")
        try await jobs.putBack(first)
        try await #expect(jobs.take(1_000) == (0..<1_000).map { "\($0)" })
        try await #expect(jobs.take(1_000) == (1_000..<count).map { "\($0)" })
    }

    @Test("Cute: as many are taken out as were asked for, whatever has expired between them")
    func expiredBetween() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let end = EnqueueOptions(expiresAt: (site.clock.now + .seconds(1)).date)
        try await jobs.add(Note("0"))
        try await jobs.add((0..<1_500).map { Note("old \($0)") }, end)
        try await jobs.add((1..<10).map { Note("\($0)") })
        site.clock.advance(by: .seconds(1))
        try await #expect(jobs.take(10) == (0..<10).map { "\($0)" })
        try await #expect(broker.deadLetters(limit: 2_000).count == 1_500)
    }

    @Test("G2: Cute: what is due sorts before what has its place, also behind a thousand that have expired")
    func dueBehindExpired() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let (due, end) = ((site.clock.now + .seconds(1)).date, (site.clock.now + .seconds(2)).date)
        try await jobs.add(
            (0..<1_000).map { Note("old \($0)") },
            EnqueueOptions(notBefore: due, expiresAt: end)
        )
        try await jobs.add(["0", "1"].map { Note($0) }, EnqueueOptions(notBefore: due))
        try await jobs.add(Note("2"))
        site.clock.advance(by: .seconds(2))
        try await #expect(jobs.texts() == ["0", "1", "2"])
        try await #expect(jobs.take(3) == ["0", "1", "2"])
    }

    @Test("Cute: what a process ran that has died is back in the queue, and may be taken out or cleared")
    func diedRunning() async throws {
        let site = try Site()
        let other = try await site.broker {
            $0.standFor(process: 1)
            // The process is taken to have died: it is not to notice what becomes of its right.
            $0.file.watchesWAL = false
        }
        let mine = try await site.broker { $0.standFor(process: 2) }
        let (log, goOn) = (EventLog<String>(), Signal())
        defer { goOn.send() }
        try other.route("*", Note.self) { note, _ in
            log.append(note.text)
            await goOn.receivedInAnyCase()
            return .success
        }
        let (jobs, more) = (mine.queue("jobs", of: Note.self), mine.queue("more", of: Note.self))
        for handle in [jobs, more] { try await handle.add(Note("a")) }
        try await running(other) {
            try await other.fileEngine.store.readForeignChanges()
            _ = try await log.wait(forCount: 2)
            try await #expect(jobs.count() == 0)
            try await #expect(jobs.texts() == [])
            try await #expect(jobs.take() == [])
            try await #expect(more.clear() == 0)
            try site.shell(
                "UPDATE sluice_runner_rows SET process = 'another start-of-the machine' WHERE pid = 1"
            )
            try await #expect(jobs.count() == 1)
            try await #expect(jobs.texts() == ["a"])
            try await #expect(jobs.take() == ["a"])
            try await #expect(more.clear() == 1)
            try await #expect(jobs.count() == 0)
            // Its slots are free for whoever runs the queues next.
            try mine.route("*", Note.self) { note, _ in
                log.append("mine: \(note.text)")
                return .success
            }
            try await running(mine) {
                try await jobs.add(Note("b"))
                _ = try await log.wait(forCount: 3)
            }
            goOn.send()
        }
        #expect(log.elements == ["a", "a", "mine: b"])
        await mine.close()
        await other.close()
    }
}
