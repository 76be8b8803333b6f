#if CommandLineTool
import TestSupport
import Testing

@testable import SluiceDemo

@Suite("The demo's lanes", .watched)
struct LaneTests {
    private static let activities: [Lane.Activity] = [
        .sending(
            text: "A message that is a good deal longer than any lane that has to show it can be",
            attempt: 2
        ),
        .waitingForRetry(remaining: .milliseconds(340), attempts: 1, error: "the server is busy"),
        .waiting(because: "waiting for a permit"),
        .done,
    ]

    @Test("No line is wider than it was asked to be", arguments: [40, 60, 79, 99, 200])
    func widths(_ width: Int) {
        let drawing = LaneDrawing(width: width, paint: Paint(isOn: false))
        for activity in Self.activities {
            let lane = Lane(conversation: "A very long name", done: 14, total: 15, activity: activity)
            #expect(drawing.line(lane).count <= min(width, LaneDrawing.maximumWidth))
        }
    }

    @Test("A lane says what its conversation does right now")
    func words() {
        let drawing = LaneDrawing(width: 79, paint: Paint(isOn: false))
        let lines = Self.activities.map { activity in
            drawing.line(Lane(conversation: "Ana", done: 9, total: 15, activity: activity))
        }
        #expect(lines[0].hasPrefix("Ana         █████████░░░░░░   9/15  sending again (2) \"A message"))
        #expect(lines[1].hasSuffix("   9/15  retry in 0.3 s: the server is busy"))
        #expect(lines[2].hasSuffix("   9/15  waiting for a permit"))
        #expect(lines[3].hasSuffix("   9/15  done"))
    }

    @Test("Without colours nothing but text is written, with them a line has the same text")
    func colours() {
        let lane = Lane(conversation: "Ana", done: 3, total: 15, activity: .done)
        let plain = LaneDrawing(width: 79, paint: Paint(isOn: false)).line(lane)
        let painted = LaneDrawing(width: 79, paint: Paint(isOn: true)).line(lane)
        #expect(!plain.contains("\u{1B}"))
        #expect(painted.contains("\u{1B}[32m"))
        #expect(painted.replacing(/\u{1B}\[\d+m/, with: "") == plain)
    }
}

@Suite("The demo's weather", .watched)
struct WeatherTests {
    @Test("The same seed makes the same weather, and another seed another")
    func seeds() {
        func fates(_ seed: UInt64) -> [Weather.Fate] {
            (1...200).map {
                Weather(seed: seed).fate(of: SendMessage.Name(conversation: "Ana", number: $0), visit: 1)
            }
        }
        #expect(fates(7) == fates(7))
        #expect(fates(7) != fates(8))
        #expect(Set(fates(7)).count == 4)
    }

    @Test("Nobody is unlucky for ever")
    func mercy() {
        for number in 1...500 {
            let name = SendMessage.Name(conversation: "Bo", number: number)
            #expect(Weather(seed: 1).fate(of: name, visit: Weather.lastVisitInDoubt + 1) == .fair)
        }
    }
}
#endif
