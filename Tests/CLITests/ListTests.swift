#if CommandLineTool
import Foundation
import SluiceSQLite
import Subprocess
import TestSupport
import Testing

@Suite("sluice queues and sluice actions", .watched) struct ListTests {
    /// A line with the age of a queue that is as old as the test, however slow the machine.
    private static func withoutAge(_ line: String) -> String {
        line.replacing(#/ +(\d+ min +)?\d+ s  /#, with: "     0 s  ")
            .replacing(#/ATTEMPT +OLDEST/#, with: "ATTEMPT  OLDEST")
    }

    @Test("The tables are aligned, and what a terminal would obey is shown instead")
    func tables() async throws {
        let place = try Workplace()
        for (queue, payload) in [
            ("a\u{1B}[31m\n", "\"\u{202E}\""), ("conversation/long name", "{\"b\":\n2}"),
        ] {
            _ = try await place.sluice("enqueue", "--queue", queue, "--kind", "k", "--payload", payload)
        }
        let queues = try await place.sluice("queues")
        #expect(
            queues.lines.map(Self.withoutAge) == [
                "QUEUE                   DEPTH  STATE    HEAD  KIND  ATTEMPT  OLDEST  BECAUSE",
                #"a\u{1b}[31m\n               1  stopped     1  k           0     0 s  broker stopped"#,
                "conversation/long name      1  stopped     2  k           0     0 s  broker stopped",
            ]
        )
        let actions = try await place.sluice("actions")
        #expect(
            actions.lines == [
                "ID  QUEUE                   KIND  SORT KEY  ATTEMPTS  STATE    PAYLOAD",
                #" 1  a\u{1b}[31m\n           k                      0  waiting  "\u{202e}""#,
                #" 2  conversation/long name  k                      0  waiting  {"b": 2}"#,
            ]
        )
    }

    @Test("actions shows which action has parked its queue")
    func parkedAction() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b", "b")
        _ = try await place.sluice("run", "--queue", "b", "--exec", "exit 65", "--until-empty")
        let lines = try await place.sluice("actions").lines
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.map { $0.contains("  parked  ") } == [false, false, true, false], "\(lines)")
    }

    @Test("With --json each line is an object with the facts as they are, the payload as JSON among them")
    func json() async throws {
        let place = try Workplace()
        _ = try await place.sluice(
            "enqueue",
            "--queue",
            "a\n\"\u{1B}",
            "--kind",
            "k",
            "--payload",
            "{\"b\":\r\n[1.5, null]}"
        )
        let queue = try #require(try await place.queues().first)
        #expect(queue["queue"] as? String == "a\n\"\u{1B}")
        #expect(queue["depth"] as? Int == 1)
        #expect(queue["state"] as? String == "stopped")
        #expect(queue["head"] as? Int == 1)
        #expect(queue["blocked_until"] is NSNull)
        let actions = try await place.sluice("actions", "--json")
        #expect(actions.lines.count == 1)
        let action = try #require(try actions.objects().first)
        #expect(action["queue"] as? String == "a\n\"\u{1B}")
        #expect((action["payload"] as? [String: Any])?["b"] as? [AnyHashable] == [1.5, NSNull()])
        #expect(action["attempts"] as? Int == 0)
    }

    @Test("--queue selects by name or prefix, --limit bounds the list and says that it does")
    func selection() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "a/1", "a/2", "ab", "a/1")
        for (pattern, names) in [("a", ["a"]), ("a/*", ["a/1", "a/2"]), ("*", ["a", "a/1", "a/2", "ab"])] {
            for words in [["--queue", pattern], [pattern]] {
                let queues = try await Tool.run(["queues", "--json", "--file", place.path] + words)
                #expect(try queues.objects().map { $0["queue"] as? String } == names, "\(words)")
                #expect(queues.errors == "")
            }
        }
        #expect(try await place.sluice("actions", "a", "--json").lines.count == 1)
        let letters = try await Tool.run(["dead", "list", "a/*", "--file", place.path])
        #expect(letters.errors == "sluice: no dead letter is of a queue that matches 'a/*'\n", "\(letters)")
        let some = try await place.sluice("actions", "--json", "--queue", "a/*", "--limit", "2")
        #expect(try some.objects().map { $0["id"] as? Int } == [2, 5])
        #expect(some.errors == "sluice: there are more than 2 actions; --limit shows more\n")
        let all = try await place.sluice("actions", "--json", "--queue", "a/*", "--limit", "3")
        #expect(try all.objects().map { $0["id"] as? Int } == [2, 5, 3])
        #expect(all.errors == "")
        for arguments in [["--queue", "a*"], ["a*"], ["a", "--queue", "a"], ["--limit", "0"]] {
            let wrong = try await Tool.run(["queues", "--file", place.path] + arguments)
            #expect(wrong.status == .exited(64), "\(wrong)")
        }
    }

    /// Queues that are parked, scheduled, stopped (two actions), at a gate and held; enqueued in this order.
    private func troubled() async throws -> Workplace {
        let place = try Workplace()
        try await place.enqueue("parked")
        let script = "echo no such room >&2; exit 65"
        _ = try await place.sluice("run", "--exec", script, "--until-empty")
        for (queue, more) in [
            ("later", ["--not-before", "2040-01-01"]), ("plain", []), ("plain", []),
            ("gate", ["--gate", "wifi"]),
            ("held", []),
        ] as [(String, [String])] {
            let words = ["enqueue", "--file", place.path, "--kind", "k", "--payload", "1", "--queue", queue]
            let result = try await Tool.run(words + more)
            try #require(result.status == .exited(0), "\(result)")
        }
        _ = try await place.sluice("hold", "--queue", "held", "--by", "ops")
        return place
    }

    @Test("G15: queues that need a person are first; --sort has other orders, and names decide at last")
    func order() async throws {
        let place = try await troubled()
        for (arguments, names) in [
            ([], ["parked", "gate", "held", "plain", "later"]),
            (["--sort", "name"], ["gate", "held", "later", "parked", "plain"]),
            (["--sort", "age"], ["parked", "later", "plain", "gate", "held"]),
            (["--sort", "depth"], ["plain", "gate", "held", "later", "parked"]),
            (["--sort", "depth", "--limit", "1"], ["plain"]), (["--limit", "2"], ["parked", "gate"]),
        ] as [([String], [String])] {
            let result = try await Tool.run(["queues", "--json", "--file", place.path] + arguments)
            #expect(try result.objects().map { $0["queue"] as? String } == names, "\(arguments) \(result)")
            #expect(result.errors.contains("there are more than") == arguments.contains("--limit"))
        }
    }

    @Test("--state and --because select by state, by a kind of reason, and by text of a reason or an error")
    func filters() async throws {
        let place = try await troubled()
        for (arguments, names) in [
            (["--state", "parked"], ["parked"]),
            (["--state", "held", "--state", "parked"], ["parked", "held"]),
            (["--state", "no-route"], []), (["--state", "no route"], []),
            (["--because", "gate"], ["gate"]),
            (["--because", "no-route"], []),
            (["--because", "Such Room"], ["parked"]), (["--because", "WIFI"], ["gate"]),
            (["--because", "held"], ["held"]), (["--because", "by ops", "--state", "gate"], []),
            (["--because", "stopped", "--sort", "name"], ["gate", "held", "later", "parked", "plain"]),
            (["--because", "stopped", "--queue", "plain"], ["plain"]),
        ] as [([String], [String])] {
            let result = try await Tool.run(["queues", "--json", "--file", place.path] + arguments)
            #expect(result.status == .exited(0))
            #expect(try result.objects().map { $0["queue"] as? String } == names, "\(arguments) \(result)")
        }
        for arguments in [
            ["--state", "lost"], ["--state", "empty"], ["--because", ""], ["--sort", "size"],
        ] {
            let wrong = try await Tool.run(["queues", "--file", place.path] + arguments)
            #expect(wrong.status == .exited(64), "\(wrong)")
        }
    }

    @Test("A list that is empty says so, as a line of its own, and with --json is no line")
    func empty() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        for (verb, sentence) in [
            (["holds"], "no queue is held"), (["gate", "list"], "no gate has been opened or closed"),
            (["dead", "list"], "there are no dead letters"),
        ] {
            let list = try await Tool.run(verb + ["--file", place.path])
            #expect(list.status == .exited(0) && list.errors == "sluice: \(sentence)\n", "\(list)")
            let json = try await Tool.run(verb + ["--json", "--file", place.path])
            #expect(json.output == "", "\(json)")
        }
    }

    @Test("holds lists those of a queue or prefix, as its argument or by --queue")
    func holdsOfQueue() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        for pattern in ["mail/*", "mail/a", "chat", "*"] { _ = try await place.sluice("pause", pattern) }
        for (words, found) in [
            (["mail/a"], [1, 2, 4]), (["--queue", "mail/a"], [1, 2, 4]), (["mail/b"], [1, 4]),
            (["mail/*"], [1, 2, 4]), (["mail/a/*"], [1, 4]), (["chat"], [3, 4]), (["*"], [1, 2, 3, 4]),
        ] {
            let list = try await Tool.run(["holds", "--json", "--file", place.path] + words)
            #expect(try list.objects().map { $0["id"] as? Int } == found, "\(words) \(list)")
        }
        let none = try await Tool.run(["holds", "--file", place.path, "a", "--queue", "b"])
        #expect(none.status == .exited(64), "\(none)")
    }

    @Test(
        "retry and retrying are the same state, as `show --id` has the second word",
        arguments: ["--state", "--because"]
    )
    func spellings(option: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let delays = ["--retry-delay", "1h", "--retry-limit", "1h", "--for", "2s"]
        _ = try await Tool.run(["run", "--file", place.path, "--exec", "exit 75"] + delays)
        let state = try await place.sluice("show", "--id", "1", "--json").objects().first?["state"]
        #expect(state as? String == "retrying")
        for word in ["retry", "retrying"] {
            let found = try await place.sluice("queues", "--json", option, word)
            #expect(try found.objects().map { $0["queue"] as? String } == ["q"], "\(word) \(found)")
        }
    }

    @Test("G15: both work while another process runs the file, and show what runs")
    func whileRunning() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let script = "test $SLUICE_ID = 2 || { echo started; read line < '\(try place.makePipe("never"))'; }"
        let arguments = ["run", "--file", place.path, "--exec", script, "--grace", "0"]
        var lines: [String] = []
        let status = try await Tool.follow(arguments) { line, send in
            lines.append(line)
            guard line == "started" else { return }
            let queue = try #require(try await place.queues().first)
            #expect(queue["state"] as? String == "running", "\(lines)")
            #expect((queue["because"] as? String)?.hasSuffix(", attempt 1") == true)
            #expect(queue["depth"] as? Int == 2)
            let actions = try await place.actions()
            #expect(actions.map { $0["running_since"] is String } == [true, false])
            #expect(actions.map { $0["attempts"] as? Int } == [1, 0])
            try send(.terminate)
        }
        #expect(status == .exited(0))
        #expect(try await place.queues().first?["state"] as? String != "running")
    }

    @Test(
        "G15: a process that keeps the write lock is named beside the lists",
        arguments: ["queues", "show"]
    )
    func lock(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let connection = try Connection(path: place.path, mode: .write)
        let queue = verb == "show" ? ["q"] : []
        func look() async throws -> String {
            try await Tool.run([verb, "--file", place.path] + queue).errors
        }
        try connection.beginImmediate()
        let beside = try await look()
        connection.rollback()
        #expect(
            beside.contains("process \(getpid()) ") && beside.contains("holds the write lock"),
            "\(beside)"
        )
        #expect(try await look() == "")
    }
}
#endif
