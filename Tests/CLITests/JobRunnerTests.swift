#if CommandLineTool
import Foundation
import Sluice
import Subprocess
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("The tool as a runner of jobs", .watched) struct JobRunnerTests {
    @Test("A run says at its end what it has done and what is left")
    func summary() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b", "b")
        let script = "test $SLUICE_QUEUE = a || exit 65"
        let result = try await place.sluice("run", "--exec", script, "--until-empty")
        #expect(result.allErrors.contains("1 done, 0 retried, 1 failed, 2 left"), "\(result)")
        let drained = try await place.sluice("drain", "--exec", "true", "--queue", "a")
        #expect(!drained.allErrors.contains(" done"), "\(drained)")
    }

    @Test("It says that no queue matches what was chosen, if others have actions")
    func noMatch() async throws {
        let place = try Workplace()
        let remark = "no queue that has actions matches 'nomatch/*' or 'b'"
        let arguments = ["--exec", "true", "--queue", "nomatch/*", "--queue", "b"]
        func run(_ verb: String, _ more: String...) async throws -> Tool.Result {
            try await Tool.run([verb, "--file", place.path] + arguments + more)
        }
        try await place.enqueue("b/1")
        for result in [try await run("run", "--until-empty"), try await run("drain", "--deadline", "2s")] {
            #expect(result.errors.contains(remark), "\(result)")
        }
        try await place.enqueue("b")
        #expect(try await !run("run", "--until-empty").errors.contains("matches"))
        _ = try await place.sluice("remove", "1")
        #expect(try await !run("run", "--until-empty").errors.contains("matches"))
    }

    @Test("A line of text is refused with the way to quote it")
    func plainText() async throws {
        let place = try Workplace()
        let arguments = ["enqueue", "--file", place.path, "--kind", "k", "--queue", "q", "--from", "-"]
        let result = try await Tool.run(arguments, input: "echo a\n{]\n")
        #expect(
            result.errors.contains("line 1: it is not valid JSON: text needs quotes, as `jq -R .` adds them")
        )
        #expect(result.errors.contains("line 2: it is not valid JSON\n"), "\(result)")
    }

    @Test("It says why fewer commands run at a time than were asked for")
    func concurrency() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q", "q")
        let one = try await place.sluice("run", "--exec", "exit 65", "--concurrency", "8", "--until-empty")
        #expect(one.errors.contains("1 command runs at a time"), "\(one)")
        #expect(one.errors.contains("--discipline concurrent:8"), "\(one)")
        _ = try await place.sluice("retry", "q")
        let slots = try await place.sluice(
            "run",
            "--exec",
            "true",
            "--discipline",
            "concurrent:900",
            "--until-empty"
        )
        #expect(slots.errors.contains("give --concurrency 900"), "\(slots)")
        try await place.enqueue("q", "r")
        let fine = try await place.sluice("run", "--exec", "true", "--concurrency", "8", "--until-empty")
        #expect(!fine.errors.contains("at a time"), "\(fine)")
    }

    @Test("retry, hold and remove take a queue as their argument")
    func arguments() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q", "r/1", "r/2")
        #expect(try await place.sluice("hold", "q", "--reason", "test").status == .exited(0))
        #expect(
            try await place.queues().first { $0["queue"] as? String == "q" }?["state"] as? String == "held"
        )
        #expect(try await place.sluice("retry", "q").status == .exited(0))
        #expect(try await place.sluice("remove", "r/*").output == "2 removed, 0 signalled\n")
        #expect(try await place.sluice("remove", "1").output.contains("1 is removed"))
        for words in [["retry"], ["hold"], ["retry", "q", "--all"], ["remove", "1", "q"]] {
            let result = try await Tool.run([words[0], "--file", place.path] + words.dropFirst())
            #expect(result.status == .exited(64), "\(result)")
        }
        #expect(try await place.actions().count == 1)
    }

    @Test("A queue as an argument leads to --queue")
    func queueArgument() async throws {
        let result = try await Tool.run(["export", "--file", "q.sqlite", "a.example"])
        #expect(
            result.status == .exited(64) && result.errors.contains("given with --queue here"),
            "\(result)"
        )
    }

    @Test("A run that only found what had expired says so")
    func expired() async throws {
        let place = try Workplace()
        let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
        let past = ["--expires-at", "2020-01-01T00:00:00Z"]
        try await #expect(Tool.run(words + past).status == .exited(0))
        let result = try await place.sluice("run", "--exec", "true", "--until-empty")
        #expect(result.allErrors.contains("sluice: 1 dead letter, 0 left"), "\(result)")
    }

    @Test("hold and pause say that what they are given matches nothing yet", arguments: ["hold", "pause"])
    func holdOfNothing(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let remark = "no queue that has actions matches 'typo': the hold applies to those that will"
        #expect(try await place.sluice(verb, "typo").errors.contains(remark))
        for known in ["q", "*"] { #expect(try await place.sluice(verb, known).errors.isEmpty) }
    }

    @Test("What an action has waited for is not its state any more")
    func pastWaits() {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        func action(retry: Date? = nil, notBefore: Date? = nil) -> ActionSummary {
            ActionSummary(
                id: ActionID(rawValue: 1),
                queue: "q",
                kind: "k",
                sortKey: nil,
                attempts: 1,
                runningSince: nil,
                nextAttemptAt: retry,
                notBefore: notBefore,
                enqueuedAt: now,
                lastError: nil,
                payload: "1"
            )
        }
        #expect(action(retry: now).state(at: now - 1).hasPrefix("retry at "))
        #expect(action(retry: now).state(at: now) == "waiting")
        #expect(action(notBefore: now).state(at: now - 1).hasPrefix("scheduled for "))
        #expect(action(notBefore: now).state(at: now) == "waiting")
    }

    @Test(
        "Options of other tools lead to those of this one",
        arguments: [
            (["run", "--exec", "true", "--jobs", "4"], "--concurrency"),
            (["run", "--exec", "true", "-j", "4"], "--concurrency"),
            (["run", "--exec", "true", "--workers=4"], "--concurrency"),
            (["reschedule", "1", "--in", "5m"], "--at"),
        ]
    )
    func foreignOptions(_ words: [String], _ option: String) async throws {
        let place = try Workplace()
        let result = try await Tool.run([words[0], "--file", place.path] + words.dropFirst())
        #expect(result.status == .exited(64) && result.errors.contains("is here \(option)"), "\(result)")
    }

    @Test("After an edit it says that the queue stays parked, and what starts it")
    func edit() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await place.sluice("edit", "1", "--payload", "7")
        #expect(!result.errors.contains("parked"), "\(result)")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        let parked = try await place.sluice("edit", "1", "--payload", "8")
        #expect(parked.errors.contains("the queue 'q' stays parked; `sluice retry 'q'` tries"), "\(parked)")
    }

    @Test("Composite sort keys can be given for one action and by fields")
    func compositeKeys() async throws {
        let place = try Workplace()
        let type = ["--sort-type", "composite:date,integer"]
        for key in ["2026-01-02T00:00:00Z,1", "2026-01-01T00:00:00Z,2"] {
            let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
            let result = try await Tool.run(words + type + ["--sort-key", key])
            #expect(result.status == .exited(0), "\(result)")
        }
        let lines = #"{"at":"2026-01-01T00:00:00Z","n":1}"#
        let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--from", "-"]
        let result = try await Tool.run(words + type + ["--sort-field", "at,n"], input: lines + "\n")
        #expect(result.status == .exited(0), "\(result)")
        #expect(try await place.actions().compactMap { $0["id"] as? Int } == [3, 2, 1])
        for wrong in ["composite:date", "composite:auto,date", "composite:date,x"] {
            let refused = try await Tool.run(
                words + ["--sort-type", wrong, "--sort-field", "at,n"],
                input: lines
            )
            #expect(refused.status == .exited(64), "\(refused)")
        }
    }

    @Test("No line of a table is wider than the terminal", arguments: [40, 60, 80, 100, 200])
    func tables(width: Int) {
        var table = Table([
            .init(heading: "queue", cut: .middle), .init(heading: "state"),
            .init(heading: "depth", isNumber: true),
            .init(heading: "oldest", isNumber: true), .init(heading: "kind", cut: .middle),
            .init(heading: "head", isNumber: true), .init(heading: "because", cut: .end),
        ])
        table.add([
            "conversation/\(String(repeating: "long", count: 20))", "unknown kind", "1234567", "12d 3h",
            "send-message-to-somebody", "123456789", String(repeating: "because ", count: 20),
        ])
        for line in table.lines(width: width) { #expect(DisplayWidth.of(line) <= width, "\(line)") }
        #expect(table.lines(width: nil)[1].hasSuffix("because "))
    }
}
#endif
