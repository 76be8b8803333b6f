#if CommandLineTool
import Foundation
import SluiceJSON
import Sluice
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceCLI

@Suite("The parts of sluice watch", .watched) struct WatchPartsTests {
    private static let run = WaitReason.running(since: Date(timeIntervalSince1970: 0), attempt: 1)
    private static let parking = WaitReason.parked(
        by: ActionID(rawValue: 7),
        cause: .failed,
        error: "no such room",
        since: .distantPast
    )
    private static let hold = WaitReason.held(by: "ops", reason: "", until: nil)

    private func queue(_ name: String, _ because: WaitReason, depth: Int = 1, age: Int = 0) -> QueueStatus {
        QueueStatus(
            queue: QueueName(name),
            depth: depth,
            because: [because],
            head: ActionID(rawValue: 1),
            headKind: "k",
            attempt: 0,
            oldestEnqueuedAt: Date(timeIntervalSinceNow: -Double(age)),
            lastError: nil,
            queueID: nil
        )
    }

    private func picture(_ queues: [QueueStatus]) -> WatchPicture {
        var eye = WatchEye(.all)
        return eye.picture(queues, Arrivals(), .now)
    }

    @Test("Widths are those of a terminal: wide, narrow, combined, joined")
    func widths() {
        for (text, width) in [
            ("abc", 3), ("日本", 4), ("é", 1), ("e\u{301}", 1), ("🙂", 2), ("👩‍👩‍👧", 2), ("🇩🇪", 2),
            ("❤\u{FE0F}", 2),
            ("ｱ", 1), ("한국", 4), ("\u{200D}", 0), ("", 0), ("–", 1), ("█", 1),
        ] {
            #expect(DisplayWidth.of(text) == width, "\(text.debugDescription)")
        }
        #expect(DisplayWidth.fit("日本語", 5) == "日本…")
        #expect(DisplayWidth.fit("日本語", 4) == "日… ")
        #expect(DisplayWidth.fit("ab", 4) == "ab  ")
        #expect(DisplayWidth.fit("12", 4, isNumber: true) == "  12")
        #expect(Times.short(.seconds(3)) == "3 s" && Times.short(.seconds(300)) == "5 min")
        #expect(Times.short(.seconds(7_200)) == "2 h" && Times.short(.seconds(-1)) == "0 s")
        for width in 0...8 { #expect(DisplayWidth.of(DisplayWidth.fit("a日e\u{301}🙂 b", width)) == width) }
    }

    @Test("A long name keeps its end: whole parts of it, or the last letters")
    func names() {
        for (name, width, shown) in [
            ("conversation/42", 15, "conversation/42"), ("conversation/2026/11/42", 20, "conversation/…/42"),
            ("conversation/2026/11/42", 12, "conve…/11/42"),
            ("conversation/9b1deb4d-3b7d", 14, "conver…4d-3b7d"),
            ("日本語の長い名前", 9, "日本…名前"), ("abcdef", 2, "a…"), ("abcdef", 0, ""),
        ] {
            #expect(DisplayWidth.cutMiddle(name, width) == shown, "\(name) \(width)")
        }
        for width in 0...30 {
            #expect(DisplayWidth.of(DisplayWidth.fitMiddle("a/日本/語e\u{301}🙂 b", width)) == width)
        }
        #expect(DisplayWidth.wrap("日本語a", 4) == ["日本", "語a"] && DisplayWidth.wrap("", 4) == [""])
    }

    @Test("Keys are told from the bytes that a terminal sends")
    func keys() {
        for (bytes, keys) in [
            ("q", [.character("q")]), ("\u{1B}", [.escape]), ("\u{1B}[A\u{1B}OB", [.up, .down]),
            ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]), ("\u{1B}[H\u{1B}[4~", [.home, .end]),
            ("/é日\r", [.character("/"), .character("é"), .character("日"), .enter]), ("\u{7F}", [.backspace]),
            ("\u{1B}[1;5C\u{1B}[200~x", [.character("x")]), ("\u{1}", []), ("\u{1B}[", []),
        ] as [(String, [Key])] {
            #expect(Key.keys(in: Array(bytes.utf8)) == keys, "\(bytes.debugDescription)")
        }
    }

    @Test("Of a further frame only the lines that are others are drawn, and all when the size is another")
    func frames() {
        var frame = FrameWriter()
        let size = ScreenSize(columns: 10, rows: 3)
        let first = frame.update(["a", "b", "c"], size)
        #expect(first?.contains("\u{1B}[2;1H\u{1B}[Kb") == true)
        let same = frame.update(["a", "b", "c"], size)
        #expect(same == nil)
        let second = frame.update(["a", "B", "c"], size)
        #expect(second == "\u{1B}[?2026h\u{1B}[2;1H\u{1B}[KB\u{1B}[0m\u{1B}[?2026l")
        let shorter = frame.update(["a"], size)
        #expect(shorter?.contains("\u{1B}[3;1H\u{1B}[K") == true)
        let resized = frame.update(["a"], ScreenSize(columns: 9, rows: 3))
        #expect(resized?.contains("\u{1B}[1;1H\u{1B}[Ka") == true)
    }

    @Test("Queues that ask for somebody stand first, of those the oldest; ten thousand fit a small screen")
    func order() {
        let queues =
            (0..<10_000).map { queue("r\($0)", Self.run, age: $0) } + [
                queue("s", .stopped), queue("p1", Self.parking, age: 1), queue("h", Self.hold),
                queue("p2", Self.parking, age: 9),
            ]
        var model = WatchModel()
        model.show(picture(queues))
        #expect(model.lanes.prefix(5).map(\.name.rawValue) == ["p2", "p1", "h", "s", "r9999"])
        let drawing = WatchDrawing(
            title: "f",
            size: ScreenSize(columns: 100, rows: 12),
            paint: Paint(isOn: false)
        )
        let lines = drawing.lines(model)
        #expect(lines.count == 12)
        #expect(lines[1].hasPrefix("10004 queues  10004 actions"))
        #expect(lines[4].hasPrefix("▶ p2 "))
        #expect(lines[4].contains("parked by 7: no such "))
    }

    @Test("On 80 columns the counts of all states, all keys and the help are whole")
    func usualScreen() {
        var model = WatchModel()
        let reasons: [WaitReason] = [
            Self.run, Self.parking, Self.hold, .stopped, .ready, .retry(until: .distantFuture),
        ]
        let queues = reasons.enumerated().map { queue("q\($0)", $1, depth: 123) }
        model.show(picture(queues))
        let size = ScreenSize(columns: 80, rows: 24)
        let drawing = WatchDrawing(title: "q.sqlite", size: size, paint: Paint(isOn: false))
        let lines = drawing.lines(model)
        for state in ["parked", "held", "retry", "stopped", "running", "ready"] {
            #expect(lines[1].contains("1 \(state)"), "\(lines[1])")
        }
        #expect(lines.last?.contains("q quit") == true, "\(lines)")
        _ = model.press(.character("?"), pageSize: 3)
        #expect(drawing.lines(model).allSatisfy { !$0.contains("…") }, "\(drawing.lines(model))")
        _ = model.press(.escape, pageSize: 3)
        model.show(picture(queues + [queue("u", .unknownKind), queue("n", .noRoute)]))
        #expect(drawing.lines(model)[1].hasSuffix("  …"))
    }

    @Test(
        "Every line fits the screen, whatever its size and the names",
        arguments: [20, 40, 80, 99, 100, 200]
    )
    func fits(columns: Int) {
        var model = WatchModel()
        let longName = String(repeating: "x", count: 500)
        let names = ["日本語の長い名前のキュー🙂🙂🙂🙂🙂🙂🙂", "\u{1B}[2J\r\u{202E}", longName]
        model.show(picture(names.map { queue($0, Self.parking, depth: 1_000_000, age: 1_000_000) }))
        for rows in [1, 5, 24] {
            let size = ScreenSize(columns: columns, rows: rows)
            for key in [Key.home, .character("?"), .escape, .character("/"), .escape] {
                _ = model.press(key, pageSize: 3)
                let lines = WatchDrawing(title: names[1], size: size, paint: Paint(isOn: false)).lines(model)
                #expect(lines.allSatisfy { !$0.unicodeScalars.contains(where: Visible.isUnseen) })
                if columns >= 60 { #expect(lines.allSatisfy { DisplayWidth.of($0) <= columns }) }
            }
        }
    }

    @Test("A wider screen never shows less of a reason")
    func reason() {
        var model = WatchModel()
        let error = String(repeating: "e", count: 300)
        let parking = WaitReason.parked(
            by: ActionID(rawValue: 7),
            cause: .failed,
            error: error,
            since: .distantPast
        )
        model.show(picture([queue(String(repeating: "q", count: 300), parking)]))
        var before = 0
        for columns in 50...220 {
            let drawing = WatchDrawing(
                title: "f",
                size: ScreenSize(columns: columns, rows: 9),
                paint: Paint(isOn: false)
            )
            let shown = drawing.lines(model)[4].count { $0 == "e" }
            #expect(shown >= before, "\(columns)")
            before = max(before, shown)
        }
    }

    @Test("The selection stays with its queue when others move, and keys act on it")
    func selection() {
        var model = WatchModel()
        model.show(picture([queue("a", Self.run), queue("b", Self.run), queue("c", Self.run)]))
        let act1 = model.press(.down, pageSize: 10)
        #expect(act1 == nil)
        let act2 = model.press(.character("r"), pageSize: 10)
        #expect(act2 == .retry("b"))
        model.show(picture([queue("a", Self.run), queue("b", Self.hold), queue("c", Self.run)]))
        #expect(model.selectedIndex == 0)
        let act3 = model.press(.character("p"), pageSize: 10)
        #expect(act3 == .resume("b"))
        model.show(picture([queue("a", Self.run), queue("c", Self.run)]))
        let act4 = model.press(.character("p"), pageSize: 10)
        #expect(act4 == .hold("a"))
        let act5 = model.press(.end, pageSize: 10)
        #expect(act5 == nil)
        let act6 = model.press(.character("p"), pageSize: 10)
        #expect(act6 == .hold("c"))
        let act7 = model.press(.character("q"), pageSize: 10)
        #expect(act7 == .quit)
        model.show(picture([]))
        let act8 = model.press(.character("r"), pageSize: 10)
        #expect(act8 == nil)
    }

    @Test("What takes an action away is asked for twice: only a yes skips, and the head that was seen")
    func confirmation() {
        var model = WatchModel()
        model.show(picture([queue("a", Self.parking), queue("b", Self.run)]))
        let asked = model.press(.character("s"), pageSize: 10)
        #expect(asked == nil)
        let drawing = WatchDrawing(
            title: "f",
            size: ScreenSize(columns: 40, rows: 9),
            paint: Paint(isOn: false)
        )
        #expect(drawing.lines(model).last?.hasPrefix("y: skip 7 of a?") == true)
        #expect(drawing.name(of: "conversation/2026/11/42") == "conver…/11/42")
        // Another picture comes before the answer.
        model.show(picture([queue("b", Self.parking)]))
        #expect(drawing.lines(model).last?.hasPrefix("y: skip 7 of a?") == true)
        let yes = model.press(.character("y"), pageSize: 10)
        #expect(yes == .skip("a", ActionID(rawValue: 7)))
        #expect(model.mode == .lanes && model.message.isEmpty)
        for key in [Key.character("n"), .enter, .escape, .character("s"), .character("q")] {
            _ = model.press(.character("s"), pageSize: 10)
            let no = model.press(key, pageSize: 10)
            #expect(no == nil && model.mode == .lanes && model.message.isEmpty, "\(key)")
        }
        model.show(picture([]))
        let none = model.press(.character("s"), pageSize: 10)
        #expect(none == nil && model.mode == .lanes)
    }

    @Test("A filter holds on names and states, letters in it are no commands, and escape clears it")
    func filter() {
        var model = WatchModel()
        model.show(picture([queue("mail/q", Self.run), queue("chat", Self.parking)]))
        for key in [Key.character("/"), .character("Q")] { _ = model.press(key, pageSize: 5) }
        #expect(model.lanes.map(\.name.rawValue) == ["mail/q"])
        let act9 = model.press(.enter, pageSize: 5)
        #expect(act9 == nil)
        let act10 = model.press(.character("r"), pageSize: 5)
        #expect(act10 == .retry("mail/q"))
        _ = model.press(.escape, pageSize: 5)
        #expect(model.lanes.count == 2)
        for key in "/park" { _ = model.press(.character(key), pageSize: 5) }
        #expect(model.lanes.map(\.name.rawValue) == ["chat"])
        _ = model.press(.backspace, pageSize: 5)
        #expect(model.filter == "par")
    }

    @Test("The first line names the processes that run the queues")
    func runners() {
        let drawing = WatchDrawing(
            title: "f",
            size: ScreenSize(columns: 100, rows: 5),
            paint: Paint(isOn: false)
        )
        for (runners, text) in [
            ([], "no process runs the queues"), (["7"], "process 7 runs the queues"),
            (["7", "8"], "processes 7, 8 run the queues"),
        ] as [([String], String)] {
            var model = WatchModel()
            var picture = picture([])
            picture.runners = runners
            model.show(picture)
            #expect(drawing.lines(model)[0] == "sluice watch  f  \(text)")
        }
    }

    @Test("The selected queue is always on the screen")
    func scrolling() {
        var model = WatchModel()
        model.show(picture((0..<100).map { queue("q\($0)", Self.run, age: 100 - $0) }))
        for _ in 0..<50 { _ = model.press(.down, pageSize: 10) }
        model.scroll(pageSize: 10)
        #expect(model.top == 41)
        _ = model.press(.pageUp, pageSize: 10)
        model.scroll(pageSize: 10)
        #expect(model.top == 40)
        _ = model.press(.home, pageSize: 10)
        model.scroll(pageSize: 10)
        #expect(model.top == 0)
    }

    @Test("Rates are what came and went between two looks, for each queue and in all")
    func rates() {
        var eye = WatchEye(.all)
        let start = ContinuousClock.now
        func arrivals(_ last: Int64, _ counts: [QueueName: Int]) -> Arrivals {
            Arrivals(last: ActionID(rawValue: last), counts: counts)
        }
        let first = eye.picture([queue("a", Self.run, depth: 10)], arrivals(10, [:]), start)
        #expect(first.lanes[0].rateIn == nil && first.rateOut == nil)
        let second = eye.picture(
            [queue("a", Self.run, depth: 4), queue("b", Self.run, depth: 2)],
            arrivals(16, ["a": 2, "b": 2]),
            start + .seconds(2)
        )
        #expect(second.lanes.first { $0.name == "a" }?.rateIn == 1)
        #expect(second.lanes.first { $0.name == "a" }?.rateOut == 4)
        #expect(second.lanes.first { $0.name == "b" }?.rateIn == 1)
        // Two came and went unseen: the numbers tell of them.
        #expect(second.rateIn == 3)
        #expect(second.rateOut == 5)
    }

    @Test("It looks after a commit, now and then without, and never more than a fifth of the time")
    func pace() {
        var pace = WatchPace()
        let start = ContinuousClock.now
        #expect(pace.mayLook(at: start))
        let isDue11 = pace.isDue(at: start, marker: 1)
        #expect(isDue11)
        pace.looked(at: start, taking: .milliseconds(50))
        #expect(!pace.mayLook(at: start + .milliseconds(199)))
        #expect(pace.mayLook(at: start + .milliseconds(200)))
        let isDue12 = pace.isDue(at: start + .milliseconds(200), marker: 1)
        #expect(!isDue12)
        let isDue13 = pace.isDue(at: start + .milliseconds(300), marker: 2)
        #expect(isDue13)
        pace.looked(at: start + .milliseconds(300), taking: .zero)
        let isDue14 = pace.isDue(at: start + .milliseconds(400), marker: 2)
        #expect(!isDue14)
        let isDue15 = pace.isDue(at: start + .milliseconds(1_300), marker: 2)
        #expect(isDue15)
    }

    @Test("Without a screen each change of a state is one line, and the end of a queue too")
    func log() {
        var log = WatchLog()
        let time = Timestamp(microseconds: 0)
        let first = log.lines(
            picture([queue("a\u{1B}", Self.run), queue("b", Self.parking)]),
            at: time,
            json: false
        )
        #expect(
            first == [
                "1970-01-01T00:00:00.000000Z  b  parked  depth 1  "
                    + "parked by action 7 after failure (failed): no such room",
                #"1970-01-01T00:00:00.000000Z  a\u{1b}  running  depth 1  "#
                    + "running since 1970-01-01T00:00:00.000000Z, attempt 1",
            ]
        )
        let deeper = [queue("a\u{1B}", Self.run, depth: 5), queue("b", Self.parking)]
        let same = log.lines(picture(deeper), at: time, json: false)
        #expect(same.isEmpty)
        let last = log.lines(picture([queue("a\u{1B}", Self.run)]), at: time, json: true)
        #expect(
            last == [
                #"{"time":"1970-01-01T00:00:00.000000Z","queue":"b","state":"drained","depth":0,"#
                    + #""because":"no action is left"}"#
            ]
        )
    }

    @Test("Times are written as they are read, at the ends of the calendar too")
    func times() throws {
        for text in [
            "0000-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z",
            "2000-02-29T12:34:56.000001Z", "1900-03-01T00:00:00.000000Z", "2026-11-21T23:59:59.500000Z",
        ] {
            let time = try #require(DateTime(text), "\(text)")
            #expect(Times.text(Timestamp(microseconds: time.microseconds)) == text)
        }
        #expect(Times.text(Timestamp(microseconds: .max)) == "9223372036854775807")
    }

    @Test("Spans have a unit, or are seconds")
    func spans() {
        for (text, duration) in [
            ("90", .seconds(90)), ("90s", .seconds(90)), ("1.5m", .seconds(90)), ("2h", .seconds(7_200)),
            ("1d", .seconds(86_400)), ("200ms", .milliseconds(200)), ("ms", nil), ("-1", nil), ("soon", nil),
            ("1e99", nil), ("", nil), ("nan", nil),
        ] as [(String, Duration?)] {
            #expect(Span(argument: text)?.duration == duration, "\(text)")
        }
    }
}
#endif
