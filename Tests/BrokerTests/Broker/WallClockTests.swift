import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Where the broker is meanwhile.
enum ClockMoment: String, CaseIterable, Sendable { case running, restart }

/// The rules of "Time" in `Operating.md`: one test for each kind of time, over all jumps, with a broker that
/// runs meanwhile and with one that is started behind the jump.
///
/// Everything is to last 1,000 seconds, of which 30 are over when the clock jumps.
@Suite("Jumps of the wall clock", .serialized, .watched(minutes: 5))
struct WallClockTests {
    private static let whole: Duration = .seconds(1_000)
    private static let gone: Duration = .seconds(30)
    /// A running broker asks the wall clock this often, and the engine may lag some steps behind the manual
    /// one.
    private static let look: Duration = .seconds(60) + lag
    private static let lag: Duration = .seconds(200)

    private let site: Site
    private let log = EventLog<String>()

    init() throws { site = try Site() }

    private func open(_ configure: (Broker) throws -> Void) async throws -> Broker {
        let broker = try await site.broker { $0.file.durability = .everything }
        try configure(broker)
        return broker
    }

    /// Runs a broker over a jump, or one before it and one behind it.
    private func over(
        _ jump: ClockJump,
        _ moment: ClockMoment,
        configure: @Sendable (Broker) throws -> Void,
        before: @Sendable (Broker) async throws -> Void,
        after: @Sendable (Broker) async throws -> Void
    ) async throws {
        let first = try await open(configure)
        try await running(first) {
            try await before(first)
            site.clock.advance(by: Self.gone)
            if moment == .running {
                site.clock.jumpWall(by: jump.duration)
                try await after(first)
            }
        }
        await first.close()
        guard moment == .restart else { return }
        site.clock.jumpWall(by: jump.duration)
        let second = try await open(configure)
        try await running(second) { try await after(second) }
        await second.close()
    }

    /// Moves the clock in steps until something has happened, and tells by how much.
    ///
    /// What the engine has begun it ends within a step; the result is exact to some steps.
    ///
    /// - Parameter held: How many handlers run all the time.
    private func advance(
        _ broker: Broker,
        by step: Duration = .seconds(10),
        besides held: Int = 0,
        until condition: @Sendable () async throws -> Bool
    ) async throws -> Duration {
        let start = site.clock.uptime
        while try await !condition() {
            try Task.checkCancellation()
            site.clock.advance(by: step)
            try await TestSupport.until { try await condition() || broker.fileEngine.isAtRest(butFor: held) }
            try await broker.file?.flush()
        }
        return site.clock.uptime - start
    }

    @Test(
        "G8: a retry is due when the clock jumps forward, and waits its delay at most when it jumps back",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func retry(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        try await over(jump, moment) { broker in
            try broker.route("*", Note.self) { note, attempt in
                log.append("\(note.text) \(attempt.number)")
                return attempt.number == 1 ? .retry(after: Self.whole) : .success
            }
        } before: { broker in
            try await broker.enqueue(Note("a"))
            try await until { broker.statistics.retried == 1 }
        } after: { broker in
            if moment == .restart && !jump.isForward {
                // The file says so, not what it was before.
                let until = (site.clock.now + Self.whole).date
                try await TestSupport.until {
                    try await broker.status(of: "notes").because == [.retry(until: until)]
                }
            }
            // An arrival has the head looked at again: its wait must not begin anew.
            try await broker.enqueue(Note("behind"))
            let rest = try await advance(broker) { log.elements.count >= 2 }
            switch (jump.isForward, moment) {
            case (true, .running): #expect(rest <= Self.whole - Self.gone + Self.lag)
            case (true, .restart): #expect(rest <= Self.lag)
            case (false, .running): #expect((Self.whole - Self.gone...Self.whole + Self.lag).contains(rest))
            case (false, .restart): #expect((Self.whole...Self.whole + Self.lag).contains(rest))
            }
        }
        #expect(log.elements.prefix(2) == ["a 1", "a 2"])
    }

    @Test(
        "G8: a head that was released waits no longer than its delay, and a restart ends its wait",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func release(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        var options = RouteOptions()
        options.releaseDelay = Self.whole
        try await over(jump, moment) { [options] broker in
            try broker.route("*", Note.self, options) { note, _ in
                log.append(note.text)
                return log.elements.count == 1 ? .release : .success
            }
        } before: { broker in
            try await broker.enqueue(Note("a"))
            try await until { broker.statistics.released == 1 }
        } after: { broker in
            let rest = try await advance(broker) { log.elements.count >= 2 }
            #expect(rest <= (moment == .running ? Self.whole - Self.gone : .zero) + Self.lag)
            if moment == .running && !jump.isForward { #expect(rest >= Self.whole - Self.gone) }
        }
    }

    @Test(
        "G8: what is scheduled never starts before its date, and does within a minute of it",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func schedule(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        let date = (site.clock.now + Self.whole).date
        try await over(jump, moment) { broker in
            try broker.route("*", Note.self) { note, _ in
                log.append("\(note.text) \(site.clock.now.date >= date)")
                return .success
            }
        } before: { broker in
            try await broker.enqueue(Note("later"), notBefore: date)
            try await broker.enqueue(Note("now"))
            _ = try await log.wait(forCount: 1)
        } after: { broker in
            if !jump.isForward {
                // As long as was asked, and the date has not come.
                _ = try await advance(broker, by: .seconds(10)) {
                    site.clock.uptime >= Self.gone + Self.whole * 2
                }
                #expect(log.elements.count == 1)
                try await #expect(broker.status(of: "notes").because == [.scheduled(for: date)])
                site.clock.advance(by: Timestamp(date) - site.clock.now - .seconds(1))
                try await broker.file?.flush()
                #expect(log.elements.count == 1)
            }
            let rest = try await advance(broker) { log.elements.count >= 2 }
            #expect(rest <= (moment == .restart && jump.isForward ? Self.lag : Self.look))
        }
        #expect(log.elements == ["now false", "later true"])
    }

    @Test(
        "What expires does so when the wall clock has reached its end, and not before; found within a minute",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func expiry(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        let end = (site.clock.now + Self.whole).date
        try await over(jump, moment) { broker in
            try broker.routeNotes(to: log)
        } before: { broker in
            try await broker.hold("*", by: "test")
            try await broker.enqueue(Note("a"), EnqueueOptions(expiresAt: end))
        } after: { broker in
            if !jump.isForward {
                _ = try await advance(broker, by: .seconds(10)) {
                    site.clock.uptime >= Self.gone + Self.whole * 2
                }
                try await #expect(broker.deadLetters().isEmpty)
                site.clock.advance(by: Timestamp(end) - site.clock.now - .seconds(1))
                try await broker.file?.flush()
                try await #expect(broker.deadLetters().isEmpty)
            }
            let rest = try await advance(broker) { try await !broker.deadLetters().isEmpty }
            #expect(rest <= (moment == .restart && jump.isForward ? Self.lag : Self.look))
            let letter = try #require(await broker.deadLetters().first)
            #expect(letter.cause == .expired && letter.diedAt >= end)
        }
        #expect(log.elements.isEmpty)
    }

    @Test(
        "G8: a hold ends when the clock jumps past its end, and lasts its time at most when it jumps back",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func hold(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        try await over(jump, moment) { broker in
            try broker.routeNotes(to: log)
        } before: { broker in
            try await broker.hold("notes", by: "ops", for: Self.whole)
            try await broker.enqueue(Note("a"))
            try await until { broker.fileEngine.scheduler.time(of: .endControls) != nil }
        } after: { broker in
            let rest = try await advance(broker) { log.elements.count >= 1 }
            switch (jump.isForward, moment) {
            case (true, .running): #expect(rest <= Self.look)
            case (true, .restart): #expect(rest <= Self.lag)
            case (false, .running): #expect((Self.whole - Self.gone...Self.whole + Self.look).contains(rest))
            case (false, .restart): #expect((Self.whole...Self.whole + Self.lag).contains(rest))
            }
            try await #expect(broker.holds().isEmpty)
        }
    }

    @Test(
        "G8: a closed gate opens when the clock jumps past its time; a jump back does not prolong it",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func closing(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        try await over(jump, moment) { broker in
            var options = RouteOptions()
            options.gates = ["server"]
            try broker.route("*", Note.self, options) { note, _ in
                log.append(note.text)
                return .success
            }
        } before: { broker in
            try await broker.closeGate("server", isPersistent: true, for: Self.whole)
            try await broker.enqueue(Note("a"))
            try await until { broker.fileEngine.scheduler.time(of: .endControls) != nil }
        } after: { broker in
            let rest = try await advance(broker) { log.elements.count >= 1 }
            let left = Self.whole - Self.gone
            switch (jump.isForward, moment) {
            case (true, .running): #expect(rest <= Self.look)
            case (true, .restart): #expect(rest <= Self.lag)
            case (false, .running): #expect((left...left + Self.lag).contains(rest))
            case (false, .restart): #expect((Self.whole...Self.whole + Self.lag).contains(rest))
            }
        }
    }

    @Test(
        "A key is free when the clock jumps past its end, and kept its time anew at most when it jumps back",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func key(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        @Sendable func options(_ key: String) -> EnqueueOptions {
            EnqueueOptions(key: DeduplicationKey(key, retention: Self.whole))
        }
        try await over(jump, moment) { broker in
            try broker.routeNotes(to: log)
        } before: { broker in
            for key in ["asked", "left"] { try await broker.enqueue(Note(key), options(key)) }
            try await until { broker.statistics.succeeded == 2 }
        } after: { broker in
            let count = jump.isForward ? 3 : 2
            try await broker.enqueue(Note("again"), options("asked"))
            _ = try await log.wait(forCount: count)
            if !jump.isForward {
                _ = try await advance(broker) { site.clock.uptime >= Self.gone + Self.whole - .seconds(20) }
                try await broker.enqueue(Note("still"), options("asked"))
                await broker.waitUntilIdle()
                #expect(log.elements.count == count)
                // From the jump, or from when it was asked for at the latest.
                site.clock.advance(by: Self.whole)
                try await broker.enqueue(Note("after"), options("asked"))
                _ = try await log.wait(forCount: count + 1)
            }
            // A key that nobody asks for goes too, with the sweeps.
            let left = "SELECT count(*) FROM sluice_key_rows WHERE key = 'left'"
            let rest = try await advance(broker, by: .seconds(5)) { try site.rows(left) == ["0"] }
            #expect(rest <= Self.whole + Self.look * 2)
        }
        #expect(Set(log.elements) == ["asked", "left", jump.isForward ? "again" : "after"])
    }

    @Test(
        "Dead letters are purged by the time of the clock when they died: none whose date lies ahead",
        arguments: ClockJump.allCases,
        ClockMoment.allCases
    )
    func purge(_ jump: ClockJump, _ moment: ClockMoment) async throws {
        let died = site.clock.now
        try await over(jump, moment) { broker in
            try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        } before: { broker in
            try await broker.enqueue(Note("a"))
            try await until { try await broker.deadLetters().count == 1 }
        } after: { broker in
            func purgeOlderThan(_ age: Duration) async throws -> Int {
                try await broker.purgeDeadLetters(diedBefore: (site.clock.now + (Duration.zero - age)).date)
            }
            if !jump.isForward {
                try await #expect(purgeOlderThan(.zero) == 0)
                site.clock.advance(by: died - site.clock.now + Self.whole)
            }
            try await #expect(broker.deadLetters().map(\.diedAt) == [died.date])
            let age = site.clock.now - died
            try await #expect(purgeOlderThan(age) == 0)
            try await #expect(purgeOlderThan(age - .microseconds(1)) == 1)
        }
    }

    @Test("The time of an attempt does not go by the wall clock", arguments: ClockJump.allCases)
    func timeout(_ jump: ClockJump) async throws {
        var options = RouteOptions()
        options.timeout = Self.whole
        let broker = try await open { [options] broker in
            try broker.route("*", Note.self, options) { note, _ in
                log.append(note.text)
                try await untilCancelled()
                return .success
            }
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            site.clock.advance(by: Self.gone)
            site.clock.jumpWall(by: jump.duration)
            let rest = try await advance(broker, besides: 1) { broker.statistics.timeouts == 1 }
            #expect((Self.whole - Self.gone...Self.whole + Self.lag).contains(rest))
        }
        await broker.close()
    }
}
