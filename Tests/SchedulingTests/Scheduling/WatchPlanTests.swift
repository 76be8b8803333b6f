import TestSupport
import Testing

@testable import Sluice

/// A plan with the times at which it sets the watch and looks.
private struct Rehearsal {
    var plan = WatchPlan()
    var now: Duration = .seconds(100)
    var turns = 0
    var armed: [Duration] = []
    var looked: [Duration] = []

    init() {
        plan.start(at: now)
        goOn()
    }

    /// Does what is due now.
    mutating func goOn() {
        while let step = plan.step(at: now, turns: turns) {
            switch step {
            case .arm:
                armed.append(now)
                plan.armed(at: now, turns: turns)
            case .look: looked.append(now)
            }
        }
    }

    /// Does all that is due until a time.
    mutating func pass(until end: Duration) {
        while let next = plan.nextTime, next <= end {
            now = max(now, next)
            goOn()
        }
        now = end
    }

    mutating func pass(_ duration: Duration) { pass(until: now + duration) }

    mutating func fire() {
        plan.fired(at: now, turns: turns)
        goOn()
    }

    /// A write every 30 microseconds.
    mutating func storm(_ duration: Duration, isOurs: Bool) {
        let end = now + duration
        while now < end {
            pass(.microseconds(30))
            if isOurs { turns += 1 }
            fire()
        }
    }

    /// Lets the looks of the start pass.
    static func quiet() -> Rehearsal {
        var rehearsal = Rehearsal()
        rehearsal.pass(.seconds(2))
        rehearsal.armed = []
        rehearsal.looked = []
        return rehearsal
    }
}

@Suite("When to watch the log and when to look", .watched)
struct WatchPlanTests {
    @Test("The watch is set at once, and a look follows what was written before")
    func start() {
        let rehearsal = Rehearsal()
        #expect(rehearsal.armed == [.seconds(100)])
        #expect(rehearsal.looked == [.seconds(100)])
    }

    @Test("Without events there is nothing to be done")
    func quiet() {
        var rehearsal = Rehearsal.quiet()
        #expect(rehearsal.plan.nextTime == nil)
        rehearsal.pass(.seconds(86_400))
        #expect(rehearsal.armed.isEmpty && rehearsal.looked.isEmpty)
    }

    @Test("An event after a quiet time is looked into at once, and the watch is set before the look")
    func event() {
        var rehearsal = Rehearsal.quiet()
        let now = rehearsal.now
        rehearsal.fire()
        #expect(rehearsal.armed == [now] && rehearsal.looked == [now])
    }

    @Test(
        "G11: a commit that becomes visible after the last event of its log is seen in twice its time",
        arguments: [1, 100, 240, 260, 900, 1_100, 5_000, 20_000, 70_000, 200_000, 500_000]
    )
    func lateVisibility(microseconds: Int) throws {
        var rehearsal = Rehearsal.quiet()
        let event = rehearsal.now
        rehearsal.fire()
        rehearsal.pass(.seconds(2))
        let visible = event + .microseconds(microseconds)
        let seen = try #require(rehearsal.looked.first { $0 >= visible })
        #expect(seen - event <= max(.microseconds(2 * microseconds), .microseconds(250)))
    }

    @Test("G11: the same holds while writes that are not ours go on and on", arguments: [70, 900, 4_000])
    func lateVisibilityInStorm(interval: Int) throws {
        var rehearsal = Rehearsal.quiet()
        let end = rehearsal.now + .milliseconds(200)
        while rehearsal.now < end {
            rehearsal.pass(.microseconds(interval))
            rehearsal.fire()
        }
        let gaps = zip(rehearsal.looked, rehearsal.looked.dropFirst()).map { $1 - $0 }
        #expect(try #require(gaps.max()) <= WatchPlan.stormPause + .microseconds(interval))
        // What was written last, between two settings of the watch, is looked for behind the next.
        rehearsal.pass(.seconds(2))
        #expect(rehearsal.looked.count { $0 > end + .milliseconds(20) } >= 5)
    }

    @Test(
        "A storm sets the watch once in five milliseconds, and once in twenty when it has brought nothing",
        arguments: [true, false]
    )
    func barrenStorm(isOurs: Bool) {
        var rehearsal = Rehearsal.quiet()
        rehearsal.storm(.milliseconds(500), isOurs: isOurs)
        #expect((100...125).contains(rehearsal.armed.count), "\(rehearsal.armed.count)")
        rehearsal.storm(.milliseconds(100), isOurs: isOurs)
        let before = rehearsal.armed.count
        rehearsal.storm(.seconds(2), isOurs: isOurs)
        let count = rehearsal.armed.count - before
        #expect((95...105).contains(count), "\(count)")
        #expect(rehearsal.looked.count <= rehearsal.armed.count * (isOurs ? 1 : 2))
    }

    @Test("A storm that brings nothing goes on behind pauses, as for a checkpoint")
    func brokenStorm() {
        var rehearsal = Rehearsal.quiet()
        for _ in 0..<10 {
            rehearsal.storm(.milliseconds(200), isOurs: false)
            rehearsal.pass(.milliseconds(40))
        }
        let before = rehearsal.armed.count
        rehearsal.storm(.milliseconds(200), isOurs: false)
        rehearsal.pass(.milliseconds(40))
        rehearsal.storm(.milliseconds(200), isOurs: false)
        let count = rehearsal.armed.count - before
        #expect((20...30).contains(count), "\(count)")
    }

    @Test("G11: a storm that brings something is looked into every five milliseconds again")
    func fruitfulStorm() throws {
        var rehearsal = Rehearsal.quiet()
        rehearsal.storm(.seconds(2), isOurs: false)
        let found = rehearsal.now
        rehearsal.plan.found(at: found)
        rehearsal.storm(.milliseconds(400), isOurs: false)
        let settings = rehearsal.armed.filter { $0 > found }
        #expect(try #require(settings.first) - found <= WatchPlan.barrenStormPause)
        #expect((75...85).contains(settings.count), "\(settings.count)")
    }

    @Test("G11: events that come behind a storm which brought nothing are looked into at once")
    func behindBarrenStorm() {
        var rehearsal = Rehearsal.quiet()
        rehearsal.storm(.seconds(2), isOurs: true)
        rehearsal.pass(WatchPlan.stormPause * WatchPlan.burst + WatchPlan.barrenStormPause * 2)
        for _ in 0..<10 {
            let now = rehearsal.now
            rehearsal.fire()
            #expect(rehearsal.armed.last == now && rehearsal.looked.last == now)
            rehearsal.pass(.milliseconds(3))
        }
    }

    @Test("G11: the end of a storm of our own is followed by looks, in case another commit was hidden in it")
    func endOfStorm() throws {
        var rehearsal = Rehearsal.quiet()
        for _ in 0..<1_000 {
            rehearsal.pass(.microseconds(30))
            rehearsal.turns += 1
            rehearsal.fire()
        }
        let end = rehearsal.now
        rehearsal.pass(.seconds(2))
        let armed = try #require(rehearsal.armed.last)
        #expect(armed - end <= WatchPlan.stormPause)
        let looks = WatchPlan.looksAfterTurn
        #expect(rehearsal.looked.suffix(looks.count).map { $0 - armed } == looks)
        // Whatever time the other's sync takes, up to half a second, it is seen in twice that or 20
        // milliseconds.
        #expect(looks[1] <= .milliseconds(20) && looks[looks.count - 1] >= .milliseconds(500))
        #expect(zip(looks.dropFirst(), looks.dropFirst(2)).allSatisfy { $1 <= $0 * 2 })
    }

    @Test("A turn of the writer behind the setting of the watch ends the looking")
    func discharge() {
        var rehearsal = Rehearsal.quiet()
        rehearsal.fire()
        rehearsal.pass(.milliseconds(1))
        let looked = rehearsal.looked.count
        rehearsal.turns += 1
        rehearsal.pass(.seconds(2))
        #expect(rehearsal.looked.count == looked)
        #expect(rehearsal.plan.nextTime == nil)
    }

    @Test("What we write in answer to an event sets the watch once")
    func answer() {
        var rehearsal = Rehearsal.quiet()
        let event = rehearsal.now
        rehearsal.fire()
        for _ in 0..<5 {
            rehearsal.pass(.microseconds(300))
            rehearsal.turns += 1
            rehearsal.fire()
        }
        rehearsal.pass(.seconds(2))
        #expect(rehearsal.armed == [event, event + .microseconds(300) + WatchPlan.pauseAfterTurn])
    }

    @Test("After a discharge the next event counts as another's again")
    func afterDischarge() {
        var rehearsal = Rehearsal.quiet()
        rehearsal.fire()
        rehearsal.turns += 1
        rehearsal.pass(.seconds(2))
        rehearsal.looked = []
        rehearsal.fire()
        #expect(rehearsal.looked == [rehearsal.now])
    }

    @Test("After a storm the watch is set at once again")
    func recovery() {
        var rehearsal = Rehearsal.quiet()
        for _ in 0..<10_000 {
            rehearsal.pass(.microseconds(30))
            rehearsal.fire()
        }
        rehearsal.pass(.milliseconds(100))
        for _ in 0..<10 {
            let now = rehearsal.now
            rehearsal.fire()
            #expect(rehearsal.armed.last == now && rehearsal.looked.last == now)
            rehearsal.pass(.milliseconds(3))
        }
    }

    @Test("G11: events that are far enough apart are each looked into at once, our answers to them included")
    func steadyEvents() {
        var rehearsal = Rehearsal.quiet()
        for _ in 0..<1_000 {
            let now = rehearsal.now
            rehearsal.fire()
            #expect(rehearsal.armed.last == now && rehearsal.looked.last == now)
            // The writer takes it in, claims and settles.
            for _ in 0..<3 {
                rehearsal.pass(.microseconds(300))
                rehearsal.turns += 1
                rehearsal.fire()
            }
            rehearsal.pass(.milliseconds(12))
        }
    }

    @Test("A watch that cannot be set is off until it is tried again, and its events are of the past")
    func failure() {
        var plan = WatchPlan()
        #expect(!plan.isOn)
        plan.start(at: .zero)
        #expect(plan.step(at: .zero, turns: 0) == .arm)
        plan.failed()
        #expect(!plan.isOn && plan.nextTime == nil)
        plan.fired(at: .seconds(1), turns: 0)
        #expect(plan.step(at: .seconds(1), turns: 0) == nil)
        plan.start(at: .seconds(1))
        #expect(plan.step(at: .seconds(1), turns: 0) == .arm)
        plan.armed(at: .seconds(1), turns: 0)
        #expect(plan.isOn)
    }
}
