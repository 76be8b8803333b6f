import Testing

@testable import Sluice

@Suite("When a process runs the queues alone") struct PrimaryPlanTests {
    private var plan = PrimaryPlan()
    private var now = Duration.seconds(1)
    private static let slowPace = Duration.microseconds(500)
    /// For how long nothing is proven at the usual pace, with 4 of 64 permits in their handlers.
    private static let unproven = Duration.milliseconds(14)

    /// Settles at an even pace for a while, and tells how often it asks to be the primary.
    private mutating func settle(
        for time: Duration = PrimaryPlan.window + .milliseconds(1),
        every pace: Duration = .microseconds(50),
        handlers: Int = 4,
        of permits: Int = 64,
        isFit: Bool = true,
        lacksQueues: Bool = true
    ) -> Int {
        var count = 0
        let end = now + time
        while now < end {
            now += pace
            let asks = plan.settles(
                at: now,
                handlers: handlers,
                of: permits,
                isFit: isFit,
                lacksQueues: lacksQueues
            )
            if asks { count += 1 }
        }
        return count
    }

    @Test("It asks when outcomes enough have shown that permits wait for the writer, then with each window")
    mutating func writerBound() {
        #expect(settle(for: Self.unproven) == 0)
        #expect(settle(for: .milliseconds(1)) == 1)
        #expect(settle(for: PrimaryPlan.window * 10) == 10)
        #expect(plan.isPrimary(at: now))
    }

    @Test("What stalls for a moment proves nothing: neither that it is to begin, nor that it is to end")
    mutating func moments() {
        // 102 turns past the share, and 108 back, of 128 that prove it.
        for _ in 0..<100 {
            #expect(settle(for: .milliseconds(10), handlers: 0) == 0)
            #expect(settle(for: .milliseconds(11), handlers: 64) == 0)
        }
        #expect(settle() == 1)
        for _ in 0..<100 {
            // 100 past it, and as many back.
            _ = settle(for: .milliseconds(20), handlers: 64)
            _ = settle(for: .milliseconds(20), handlers: 32)
        }
        #expect(plan.isPrimary(at: now))
    }

    @Test("It is the primary no longer than a term behind the last time it has asked")
    mutating func outcomesEnd() {
        #expect(settle() == 1)
        #expect(plan.isPrimary(at: now))
        #expect(!plan.isPrimary(at: now + PrimaryPlan.term))
    }

    @Test("G9: behind a tenure it lets another one try, and goes on when none has")
    mutating func tenure() {
        let count = settle(for: PrimaryPlan.tenure - PrimaryPlan.window, every: Self.slowPace)
        // All of its windows: the terms have followed each other.
        #expect(PrimaryPlan.window * (count + 5) >= PrimaryPlan.tenure)
        #expect(settle(for: PrimaryPlan.window * 5) <= 4)
        #expect(!plan.isPrimary(at: now))
        #expect(settle(for: PrimaryPlan.recess - PrimaryPlan.window * 5) == 0)
        #expect(settle(for: PrimaryPlan.window * 6) > 0)
        #expect(plan.isPrimary(at: now))
        // The next one is as long.
        #expect(settle(for: PrimaryPlan.tenure - PrimaryPlan.window * 7, every: Self.slowPace) > 0)
        #expect(plan.isPrimary(at: now))
    }

    @Test("G9: a tenure goes on behind a pause, and begins anew behind one that others have seen")
    mutating func interruptions() {
        for pause in [PrimaryPlan.window, PrimaryPlan.term, PrimaryPlan.recess] {
            var plan = self
            #expect(plan.settle(for: PrimaryPlan.tenure / 2, every: Self.slowPace) > 0)
            // The first of these ends the window before.
            #expect(plan.settle(for: pause + PrimaryPlan.window / 2, isFit: false) <= 1)
            let rest = PrimaryPlan.tenure / 2 + PrimaryPlan.window * 5
            #expect(plan.settle(for: rest, every: Self.slowPace) > 0)
            #expect(plan.plan.isPrimary(at: plan.now) == (pause == PrimaryPlan.recess))
        }
    }

    @Test("It does not where more than half of the permits are in their handlers")
    mutating func slowHandlers() {
        #expect(settle(for: .seconds(1), handlers: 33) == 0)
        #expect(settle(for: .seconds(1), handlers: 32) > 0)
    }

    @Test("Nor where, for a moment, few permits were in use, another process had what is missing, or all ran")
    mutating func unfit() {
        for isFit in [true, false] {
            for _ in 0..<5 {
                #expect(settle(for: Self.unproven) == 0)
                #expect(settle(for: .microseconds(50), isFit: isFit, lacksQueues: !isFit) == 0)
            }
        }
        #expect(settle(for: PrimaryPlan.window * 2) > 0)
    }

    @Test("It goes on though it has all queues by then, and ends when few permits are in use")
    mutating func hasAll() {
        #expect(settle() == 1)
        #expect(settle(for: PrimaryPlan.window * 10, lacksQueues: false) == 10)
        #expect(settle(isFit: false, lacksQueues: false) == 0)
        #expect(plan.isPrimary(at: now))
        #expect(settle(for: PrimaryPlan.term, isFit: false, lacksQueues: false) == 0)
        #expect(settle(for: .seconds(1), lacksQueues: false) == 0)
    }

    @Test("What counts is the permits in use, however many there are")
    mutating func fewPermits() {
        #expect(settle(for: .seconds(1), handlers: 9, of: 16) == 0)
        #expect(settle(for: .seconds(1), handlers: 8, of: 16) > 0)
    }

    @Test("It does not where fewer outcomes than permits come in a window")
    mutating func idle() {
        #expect(settle(for: .seconds(2), every: PrimaryPlan.window / 63) == 0)
        #expect(settle(for: .seconds(2), every: PrimaryPlan.window / 65) > 0)
    }

    @Test("Nor behind a time in which nothing happened, but a commit that took its time ends nothing")
    mutating func pauses() {
        #expect(settle(for: PrimaryPlan.window / 10) == 0)
        now += .seconds(10)
        #expect(settle(for: .microseconds(50)) == 0)
        #expect(settle(for: Self.unproven + .milliseconds(1)) == 1)
        #expect(settle(for: PrimaryPlan.window - .milliseconds(2)) == 0)
        now += PrimaryPlan.window
        #expect(settle(for: .milliseconds(3)) == 1)
    }

    @Test("Nor is it forgotten that nothing happened where much has been added up before")
    mutating func pauseOfMany() {
        #expect(settle(for: .milliseconds(10), handlers: 0) == 0)
        // So many outcomes that their mean pace hides a pause of seconds.
        #expect(settle(for: .milliseconds(600), handlers: 33) == 0)
        #expect(settle(for: .microseconds(2_500), handlers: 0) == 0)
        now += .seconds(5)
        #expect(settle(for: .milliseconds(8), handlers: 0) == 0)
        #expect(settle(for: .milliseconds(8), handlers: 0) == 1)
    }

    @Test("It goes on while a quarter of them wait; then it rests, though most wait for the writer again")
    mutating func hysteresis() {
        #expect(settle() == 1)
        #expect(settle(for: PrimaryPlan.window * 10, handlers: 48) == 10)
        #expect(settle(for: PrimaryPlan.window * 3, handlers: 52) <= 2)
        #expect(!plan.isPrimary(at: now))
        #expect(settle(for: PrimaryPlan.rest - PrimaryPlan.window * 3) == 0)
        #expect(settle(for: PrimaryPlan.window * 3) > 0)
    }

    @Test("It asks again at once when it has ended for want of work")
    mutating func backlog() {
        #expect(settle() == 1)
        #expect(settle(isFit: false) == 0)
        #expect(settle(for: PrimaryPlan.window * 2) > 0)
    }

    @Test("Behind a short term of another process it rests too, and not behind a long one")
    mutating func standby() {
        plan.standsBy(at: now)
        now += PrimaryPlan.term
        plan.standsByNoMore(at: now)
        #expect(settle(for: PrimaryPlan.rest - .milliseconds(1)) == 0)
        #expect(settle(for: PrimaryPlan.window * 2) > 0)
        for _ in 0..<3 {
            plan.standsBy(at: now)
            now += PrimaryPlan.term
        }
        plan.standsByNoMore(at: now)
        #expect(!plan.isPrimary(at: now))
        #expect(settle(for: PrimaryPlan.window * 2) > 0)
    }
}
