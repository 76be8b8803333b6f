import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

/// Each rule of the look at a history, with one that breaks it.
@Suite("Event history", .watched)
struct EventHistoryTests {
    private static let queue: QueueName = "q"

    private func event(
        _ kind: QueueEvent.Kind,
        _ action: Int64,
        attempt: Int? = nil,
        _ fill: (inout QueueEvent) -> Void = { _ in }
    ) -> QueueEvent {
        var event = QueueEvent(kind, at: Date(timeIntervalSince1970: 0), queue: Self.queue)
        event.action = ActionID(rawValue: action)
        event.attempt = attempt
        fill(&event)
        return event
    }

    /// Keys of 1, 2, 3: the number of the action, backwards.
    private func violations(
        _ events: [QueueEvent],
        _ discipline: QueueDiscipline = .firstInFirstOut
    ) -> [String] {
        let keys = (1...9).map { (ActionID(rawValue: $0), SortKey.integer(-$0)) }
        let history = EventHistory(events, sortKeys: Dictionary(uniqueKeysWithValues: keys))
        return history.violations(discipline: { _ in discipline }).map(\.description)
    }

    @Test("It is told in seconds since its start, with what each event says")
    func text() {
        let retry = event(.retrying, 7, attempt: 2) { event in
            event.time += 1.0625
            (event.delay, event.error) = (.seconds(30), "it is busy")
        }
        let blocked = event(.blocked, 7) { ($0.gate, $0.because) = ("network", .gate("network")) }
        let failed = event(.failed, 7, attempt: 3) { event in
            event.time -= 0.25
            (event.cause, event.policy, event.error) = (.exhausted, .skip, "it is busy")
        }
        let later = event(.enqueued, 8) { $0.until = Date(timeIntervalSince1970: 60) }
        #expect(
            "\(EventHistory([event(.started, 7, attempt: 2), retry, blocked, failed, later]))" == """
                +0.000 s started: action 7 of q, attempt 2
                +1.063 s retrying: action 7 of q, attempt 2, again after 30.0 seconds: it is busy
                +0.000 s blocked: action 7 of q: waiting for gate network
                -0.250 s failed: action 7 of q, attempt 3 (exhausted, skip): it is busy
                +0.000 s enqueued: action 8 of q, scheduled for 1970-01-01T00:01:00.000000Z
                """
        )
        #expect("\(EventHistory([]))" == "nothing has happened")
    }

    @Test("What is as it should be breaks nothing")
    func clean() {
        let events = [
            event(.enqueued, 1), event(.enqueued, 2),
            event(.started, 2, attempt: 1), event(.retrying, 2, attempt: 1),
            event(.started, 2, attempt: 2), event(.released, 2, attempt: 2),
            event(.started, 2, attempt: 2), event(.failed, 2, attempt: 2), event(.deadLettered, 2),
            event(.started, 1, attempt: 1), event(.succeeded, 1, attempt: 1),
            event(.requeued, 2), event(.started, 2, attempt: 1), event(.removed, 2),
        ]
        #expect(violations(events).isEmpty)
    }

    @Test("G3: two runners in one queue are found, and two runs of one action")
    func twoRunners() {
        let start = [event(.enqueued, 1), event(.enqueued, 2), event(.started, 2, attempt: 1)]
        let beside = start + [event(.started, 1, attempt: 1)]
        #expect(violations(beside) == ["G3: action 1 started in q beside [2]"])
        #expect(violations(beside, .concurrent(2)).isEmpty)
        #expect(violations(start + [event(.started, 2, attempt: 1)]) == ["G3: action 2 started while it ran"])
    }

    @Test("G2, G4: one that starts before another that sorts before it is found")
    func order() {
        let start = [event(.enqueued, 1), event(.enqueued, 2)]
        let wrong = ["G2: action 1 started in q before 2, which sorts before it"]
        #expect(violations(start + [event(.started, 1, attempt: 1)]) == wrong)
        #expect(violations(start + [event(.started, 1, attempt: 1)], .lastInFirstOut).isEmpty)
        // A head that waits for its retry, or is parked, blocks too.
        for end in [QueueEvent.Kind.retrying, .failed] {
            let blocked = start + [event(.started, 2, attempt: 1), event(end, 2, attempt: 1)]
            #expect(violations(blocked + [event(.started, 1, attempt: 1)]) == wrong)
        }
        // One that is scheduled, or was edited, may stand anywhere.
        let scheduled = event(.enqueued, 2) { $0.until = Date(timeIntervalSince1970: 9) }
        #expect(violations([event(.enqueued, 1), scheduled, event(.started, 1, attempt: 1)]).isEmpty)
        #expect(violations(start + [event(.edited, 2), event(.started, 1, attempt: 1)]).isEmpty)
        let moved = event(.moved, 2) { $0.target = "other" }
        #expect(violations(start + [moved, event(.started, 1, attempt: 1)]).isEmpty)
    }

    @Test("What SQL has moved, which the history tells as an edit, is not taken for a second runner")
    func movedBySQL() {
        let start = [event(.enqueued, 1), event(.enqueued, 2), event(.edited, 1)]
        let there = { (event: inout QueueEvent) in event.queue = "other" }
        let moved = start + [event(.started, 1, attempt: 1, there), event(.succeeded, 1, attempt: 1, there)]
        #expect(violations(moved + [event(.started, 2, attempt: 1)]).isEmpty)
        let next = [event(.enqueued, 3, there), event(.started, 3, attempt: 1, there)]
        #expect(violations(moved + next).isEmpty)
        let running = start + [event(.started, 1, attempt: 1, there)]
        #expect(violations(running + next) == ["G3: action 3 started in other beside [1]"])
    }

    @Test("G7: attempts that are left out or counted twice are found")
    func attempts() {
        let start = [event(.enqueued, 1), event(.started, 1, attempt: 1)]
        #expect(
            violations(start + [event(.retrying, 1, attempt: 1), event(.started, 1, attempt: 3)])
                == ["G7: attempt 3 of action 1 started in the place of attempt 2"]
        )
        #expect(
            violations(start + [event(.released, 1, attempt: 1), event(.started, 1, attempt: 2)])
                == ["G7: attempt 2 of action 1 started in the place of attempt 1"]
        )
    }

    @Test("G5, G6: a run that is settled twice, or never began, is found")
    func settledTwice() {
        let start = [event(.enqueued, 1), event(.started, 1, attempt: 1), event(.succeeded, 1, attempt: 1)]
        #expect(
            violations(start + [event(.started, 1, attempt: 1)])
                == ["G6: action 1 started after it had ended: succeeded"]
        )
        #expect(
            violations(start + [event(.retrying, 1, attempt: 1)])
                == ["G6: retrying: action 1, which did not run"]
        )
        #expect(
            violations([event(.enqueued, 1), event(.removed, 1), event(.removed, 1)])
                == ["G6: action 1 ended twice: removed, then removed"]
        )
    }
}
