#if CommandLineTool
import TestSupport
import Testing

@testable import SluiceDemo

@Suite("The demo's checker", .watched)
struct CheckerTests {
    private static let sent = ["Ana", "Bo"].flatMap { conversation in
        (1...3).map {
            SendMessage(conversation: conversation, number: $0, text: "\(conversation) says \($0)")
        }
    }

    @Test("Holds all claims true of a log without a fault")
    func faultless() {
        #expect(problems(in: Self.sent.map { entry($0) }) == [])
    }

    @Test("Finds a gap")
    func gap() {
        var log = Self.sent.map { entry($0) }
        log.remove(at: 1)
        #expect(problems(in: log) == ["Ana 2 was never delivered"])
    }

    @Test("Finds a message that overtook another, and lets those of two conversations pass each other")
    func order() {
        var log = Self.sent.map { entry($0) }
        log.swapAt(2, 3)
        #expect(problems(in: log) == [])
        log.swapAt(0, 1)
        #expect(problems(in: log) == ["Ana 1 was delivered behind number 2"])
    }

    @Test("Finds a gap and a message out of order in one log, and nothing else in it")
    func both() {
        var log = Self.sent.map { entry($0) }
        log.swapAt(3, 4)
        log.remove(at: 2)
        #expect(problems(in: log) == ["Ana 3 was never delivered", "Bo 1 was delivered behind number 2"])
    }

    @Test("Finds a message that was stored twice")
    func twice() {
        let log = Self.sent.map { entry($0) }
        #expect(problems(in: log + [log[5]]) == ["Bo 3 was delivered 2 times"])
    }

    @Test("Finds a message that nobody sent, and one with another text")
    func foreign() {
        var log = Self.sent.map { entry($0) }
        log[0].text = "Something else"
        log.append(entry(SendMessage(conversation: "Cleo", number: 1, text: "Hello")))
        #expect(problems(in: log) == ["Ana 1 has another text", "Cleo 1 was delivered and never sent"])
    }

    @Test("Finds a message that came with a second key, and two that came with one")
    func keys() {
        var log = Self.sent.map { entry($0) }
        log.insert(entry(Self.sent[0], .refused, key: "another"), at: 0)
        log[2].key = "Bo 1"
        #expect(problems(in: log) == ["Ana 1 came with 2 different keys", "one key for Ana 2 and Bo 1"])
    }

    @Test("Finds what the file still holds")
    func remains() {
        let log = Self.sent.map { entry($0) }
        let remains = Checker.Remains(waiting: 2, setAside: 1)
        #expect(problems(in: log, remains: remains) == ["2 still wait", "1 were set aside"])
    }

    @Test(
        "Counts what was sent again after the kill, each message once, and no worker's own repetitions"
    )
    func repeated() {
        var log = Self.sent.map { entry($0) }
        log.append(entry(Self.sent[0], .recognised, worker: 1))
        log.append(entry(Self.sent[2], .recognised, worker: 2))
        log.append(entry(Self.sent[2], .recognised, worker: 2))
        #expect(Checker(sent: Self.sent, log: log).repeatedAfterKill == 1)
        #expect(problems(in: log, unnoted: 1) == [])
        let disagreement = ["the file and the server's log do not agree on what the kill cut short"]
        #expect(problems(in: log, unnoted: 0) == disagreement)
        #expect(problems(in: log, unnoted: 2) == disagreement)
    }

    @Test("Shows what the attempts were spent on")
    func costs() {
        var log = Self.sent.map { entry($0) }
        log.insert(entry(Self.sent[0], .refused), at: 0)
        log.insert(entry(Self.sent[3], .lost), at: 0)
        log.insert(entry(Self.sent[3], .unreachable), at: 0)
        log.append(entry(Self.sent[5], .recognised, worker: 2))
        #expect(
            Checker(sent: Self.sent, log: log).costs == [
                "10 attempts for 6 messages. The other 4:",
                "     1  refused: the server was busy",
                "     1  without an answer",
                "     1  during the outage",
                "     1  cut short by the kill",
                "1 duplicates recognised by their key, 1 of them after the kill.",
            ]
        )
    }

    @Test("A summary with a claim that does not hold says so, with the reasons but not with all of a hundred")
    func summary() {
        let findings = [
            Checker.Finding(claim: "this holds", problems: []),
            Checker.Finding(claim: "this does not", problems: (1...100).map { "reason \($0)" }),
        ]
        let summary = Summary(findings: findings, costs: [], elapsed: .seconds(1), seed: 3)
        #expect(!summary.holds)
        #expect(summary.lines.contains("  ok      this holds"))
        #expect(summary.lines.contains("  FAILED  this does not"))
        #expect(summary.lines.contains("          and 95 more"))
        #expect(summary.lines.count < 20)
        #expect(summary.lines.last == "The demo has failed: 1 of its claims do not hold (1.0 s, seed 3).")
    }

    private func entry(
        _ message: SendMessage,
        _ event: LogEntry.Event = .delivered,
        worker: Int = 1,
        key: String? = nil
    ) -> LogEntry {
        LogEntry(
            worker: worker,
            conversation: message.conversation,
            number: message.number,
            attempt: 1,
            key: key ?? "\(message.name)",
            text: message.text,
            event: event
        )
    }

    private func problems(
        in log: [LogEntry],
        remains: Checker.Remains = Checker.Remains(),
        unnoted: Int = 0
    ) -> [String] {
        Checker(sent: Self.sent, log: log).findings(remains: remains, unnoted: unnoted).flatMap(\.problems)
    }
}
#endif
