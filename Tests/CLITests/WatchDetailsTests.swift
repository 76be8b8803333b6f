#if CommandLineTool
import Foundation
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceCLI

@Suite("The details and durations of sluice watch", .watched) struct WatchDetailsTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000)

    private static func date(_ seconds: Double) -> Date { now.addingTimeInterval(seconds) }

    private func queue(_ name: String, _ because: [WaitReason], error: String? = nil) -> QueueStatus {
        QueueStatus(
            queue: QueueName(name),
            depth: 3,
            because: because,
            head: ActionID(rawValue: 7),
            headKind: "k",
            attempt: 1,
            oldestEnqueuedAt: Self.date(-400),
            lastError: error,
            queueID: nil
        )
    }

    private func picture(_ queues: [QueueStatus]) -> WatchPicture {
        var eye = WatchEye(.all)
        return eye.picture(queues, Arrivals(), .now)
    }

    @Test("Reasons have durations, which a narrow column does not cut")
    func durations() {
        for (because, text) in [
            (.running(since: Self.date(-3), attempt: 2), "running for 3 s, attempt 2"),
            (.retry(until: Self.date(300)), "retry in 5 min"), (.retry(until: Self.date(-9)), "retry in 0 s"),
            (.scheduled(for: Self.date(86_400 * 3)), "scheduled in 3 d"),
            (.held(by: "ops", reason: "moving", until: Self.date(7_200)), "held by ops: moving, 2 h more"),
            (.held(by: "ops", reason: "", until: nil), "held by ops"),
            (.locked(since: Self.date(-61), by: [1]), "waiting for the write lock of process 1 for 1 min"),
            (.refused(error: "full", since: Self.date(-2)), "refused for 2 s: full"),
            (.gate("network"), "waiting for gate network"),
            (.gate("network", until: Self.date(90)), "waiting for gate network, 1 min more"),
            (.permit(.rate("x", until: Self.date(3))), "waiting for the rate limit x, 3 s more"),
        ] as [(WaitReason, String)] {
            #expect(because.text(at: Self.now) == text)
        }
        var model = WatchModel()
        model.show(picture([queue("q", [.retry(until: Self.date(300))], error: "exited with 3: refused")]))
        var drawing = WatchDrawing(
            title: "f",
            size: ScreenSize(columns: 90, rows: 8),
            paint: Paint(isOn: false)
        )
        drawing.now = Self.now
        #expect(drawing.lines(model)[4].contains("retry in 5 min; exited with 3"))
    }

    @Test("A line has the end of an error only: how the command ended, and its last line")
    func ends() {
        for (error, text) in [
            ("", "failed"), ("no such room", "no such room"), ("exited with 65: one", "exited with 65: one"),
            (#"exited with 65: one\ntwo\nno room"#, "exited with 65: …no room"), ("one\ntwo: 2\n", "…two: 2"),
        ] {
            let parked = WaitReason.parked(
                by: ActionID(rawValue: 7),
                cause: .failed,
                error: error,
                since: Self.now
            )
            #expect(parked.brief(at: nil) == "parked by 7: \(text)")
            #expect(queue("q", [parked], error: error).briefReason(at: Self.now) == "parked by 7: \(text)")
        }
        let retry = queue("q", [.retry(until: Self.date(5))], error: "exited with 3: a\\nb")
        #expect(retry.briefReason(at: Self.now) == "retry in 5 s; exited with 3: …b")
    }

    @Test("--because is a kind of reason and a text at once: refused is also in connection refused")
    func kinds() {
        let retry = queue("q", [.retry(until: Self.now)], error: "exited with 3: Connection refused")
        for (words, isExpected) in [
            ("refused", true), ("retry", true), ("CONNECTION", true), ("locked", false), ("no-route", false),
        ] {
            #expect(retry.isBecause(of: words) == isExpected, "\(words)")
        }
        let full = queue("q", [.refused(error: "disk full", since: Self.now)])
        #expect(full.isBecause(of: "refused") && queue("q", [.noRoute]).isBecause(of: "no-route"))
    }

    @Test("A table is cut to the terminal's width: names in the middle, reasons at their end; else to 200")
    func tables() {
        let parked = WaitReason.parked(
            by: ActionID(rawValue: 7),
            cause: .failed,
            error: String(repeating: "x", count: 2_000),
            since: Self.now
        )
        let table = QueueStatus.table([queue("conversation/2026/11/42", [parked])])
        let narrow = table.lines(width: 90)
        #expect(narrow.map { DisplayWidth.of($0) }.max() == 90, "\(narrow)")
        #expect(narrow[1].hasPrefix("conversation/…/42  "))
        #expect(narrow[1].contains("  parked by 7: xxx") && narrow[1].hasSuffix("x…"))
        let wide = table.lines(width: nil)
        #expect(wide[1].hasPrefix("conversation/2026/11/42  "))
        #expect(wide[1].split(separator: "  ").last?.count == 200)
    }

    @Test("On a terminal a reason has durations, and other columns come only when it is whole")
    func reasons() {
        let error = "exited with 3: the server has not answered"
        let retry = queue("conversation/42", [.retry(until: Self.date(120))], error: error)
        let whole = "retry in 2 min; \(error)"
        for names in [[], ["conversation/2026/11/29/4711"]] {
            let queues = [retry] + names.map { queue($0, [.ready]) }
            let table = QueueStatus.table(queues, isShort: true, at: Self.now)
            var before = 0
            for width in 60...160 {
                let lines = table.lines(width: width)
                let reason = lines[1].firstRange(of: "retry in").map { lines[1][$0.lowerBound...] } ?? ""
                let shown = reason == whole ? reason.count : max(reason.count - 1, 0)
                #expect(shown >= before || !names.isEmpty, "\(width) \(lines)")
                #expect(!lines[0].contains("KIND") || shown == whole.count, "\(width) \(lines)")
                before = shown
            }
            #expect(before == whole.count)
            let narrow = table.lines(width: 80)
            #expect(narrow[1].hasPrefix("conversation/42  "), "\(narrow)")
            #expect(narrow[1].contains("retry in 2 min; exited with 3"), "\(narrow)")
        }
        let piped = QueueStatus.table([retry], isShort: false, at: Self.now).lines(width: nil)
        #expect(piped[1].contains("waiting for retry until 1970-01-12T13:48:40.000000Z; exited with 3"))
    }

    @Test("Names are cut no more than is needed, and an error that must be whole goes on in further lines")
    func room() {
        let table = QueueStatus.table([
            queue("conversation/42", [.ready]), queue("conversation/1042", [.ready]),
        ])
        let narrow = table.lines(width: 80)
        #expect(narrow[1].hasPrefix("conversation/42 ") && narrow[2].hasPrefix("conversation/1042 "))
        #expect(narrow.allSatisfy { DisplayWidth.of($0) <= 80 }, "\(narrow)")
        var attempts = Table([
            .init(heading: "NUMBER", isNumber: true), .init(heading: "ERROR", cut: .wrapped),
        ])
        attempts.add(["1", "the server has not answered in time"])
        #expect(
            attempts.lines(width: 30) == [
                "NUMBER  ERROR", "     1  the server has not", "        answered in time",
            ]
        )
        #expect(
            attempts.lines(width: 20) == [
                "NUMBER  ERROR", "     1", "    the server has", "    not answered in", "    time",
            ]
        )
        #expect(attempts.lines(width: nil)[1] == "     1  the server has not answered in time")
        #expect(DisplayWidth.paragraph("one two three", indent: 2, width: 22) == ["one two three"])
        #expect(DisplayWidth.wrapWords("one two abcdefgh", 5) == ["one", "two", "abcde", "fgh"])
    }

    @Test("Details have the queue, its reasons and the attempts, the latest first, and wrap")
    func details() {
        let parked = WaitReason.parked(
            by: ActionID(rawValue: 7),
            cause: .failed,
            error: "no\u{1B} room",
            since: Self.now
        )
        var details = WatchDetails(queue("mail/1", [parked, .stopped]), at: Self.now)
        details.add(
            [
                FailedAttempt(
                    number: 1,
                    cause: nil,
                    error: "exited with 3",
                    startedAt: Self.date(-70),
                    endedAt: Self.date(-65)
                ),
                FailedAttempt(
                    number: 2,
                    cause: .failed,
                    error: "no\u{1B} room",
                    startedAt: Self.date(-9),
                    endedAt: Self.date(-9)
                ),
            ],
            at: Self.now
        )
        let drawing = WatchDrawing(
            title: "f",
            size: ScreenSize(columns: 60, rows: 5),
            paint: Paint(isOn: false)
        )
        #expect(
            drawing.lines(of: details) == [
                "queue        mail/1", "state        parked",
                #"because      parked by action 7 after failure (failed): no\u"#,
                "             {1b} room", "and because  broker stopped", "depth        3",
                "oldest       6 min", #"attempt 2    failed 9 s ago after 0 s: no\u{1b} room"#,
                "attempt 1    retry 1 min ago after 5 s: exited with 3",
            ]
        )
        #expect(drawing.screen(of: details, from: 7).count == 5)
    }

    @Test("Enter asks for the details of the selected queue, keys scroll them, and Esc goes back")
    func model() {
        var model = WatchModel()
        model.show(picture([queue("a", [.stopped]), queue("b", [.stopped])]))
        _ = model.press(.down, pageSize: 5)
        let open = model.press(.enter, pageSize: 5)
        #expect(open == .open("b") && model.mode == .lanes)
        model.open(WatchDetails(queue("b", [.stopped]), at: Self.now))
        for (key, top) in [
            (Key.down, 1), (.pageDown, 5), (.end, 5), (.up, 4), (.home, 0), (.pageUp, 0),
            (.character("j"), 1),
        ] as [(Key, Int)] {
            let act = model.press(key, pageSize: 5)
            #expect(act == nil)
            model.scrollDetails(count: 10, pageSize: 5)
            #expect(model.detailTop == top, "\(key)")
        }
        // Newer ones do not scroll.
        model.open(WatchDetails(queue("b", [.stopped]), at: Self.now))
        #expect(model.detailTop == 1)
        // Keys that act on queues do nothing here.
        for key in "prs/" {
            let act = model.press(.character(key), pageSize: 5)
            #expect(act == nil && model.mode == .details)
        }
        let back = model.press(.escape, pageSize: 5)
        #expect(back == nil && model.mode == .lanes && model.selection == "b")
        model.open(WatchDetails(queue("b", [.stopped]), at: Self.now))
        let quit = model.press(.character("q"), pageSize: 5)
        #expect(quit == .quit && model.detailTop == 0)
    }

    @Test("A parked queue that is held too is resumed by p, and not held once more")
    func heldAndParked() {
        let parked = WaitReason.parked(by: ActionID(rawValue: 7), cause: .failed, error: "", since: Self.now)
        var model = WatchModel()
        model.show(picture([queue("a", [parked, .held(by: "ops", reason: "", until: nil)])]))
        let act = model.press(.character("p"), pageSize: 5)
        #expect(act == .resume("a"))
    }
}
#endif
