#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("sluice run --exec", .watched) struct RunExecTests {
    @Test("The command gets the payload on standard input and the attempt in its environment")
    func environment() async throws {
        let place = try Workplace()
        try await place.enqueue("conversation/a b")
        let script = """
            printf '%s|' "$SLUICE_QUEUE" "$SLUICE_ID" "$SLUICE_KIND"
            printf '%s|' "$SLUICE_ATTEMPT" "$SLUICE_IDEMPOTENCY_KEY"
            cat; echo
            test "$SLUICE_ATTEMPT" = 2
            """
        let result = try await place.sluice("run", "--exec", script, "--until-empty", "--retry-delay", "0")
        #expect(result.status == .exited(0), "\(result)")
        let fields = result.lines.map { $0.split(separator: "|").map(String.init) }
        try #require(fields.map(\.count) == [6, 6], "\(result)")
        #expect(fields[0][0...3] == ["conversation/a b", "1", "k", "1"])
        #expect(fields[1][0...3] == ["conversation/a b", "1", "k", "2"])
        // G5: the same key at each attempt.
        #expect(fields[0][4] == fields[1][4] && fields[0][4].count > 8)
        #expect(fields.map { $0[5] } == ["1", "1"])
        #expect(try await place.actions().isEmpty)
    }

    @Test("Status 65 is permanent and parks the queue; the others run, and --until-empty ends with 1")
    func permanentFailure() async throws {
        let place = try Workplace()
        try await place.enqueue("bad", "bad", "good")
        let script = #"echo "$SLUICE_QUEUE"; test "$SLUICE_QUEUE" = good || exit 65"#
        let result = try await place.sluice("run", "--exec", script, "--until-empty")
        #expect(result.status == .exited(1), "\(result)")
        #expect(result.lines.sorted() == ["bad", "good"])
        #expect(result.errors.contains("sluice: 1 queue still has actions: 1 parked"))
        // While it runs, too.
        #expect(result.errors.contains("sluice: queue parked: action=1 attempt=1 cause=failed"))
        let queues = try await place.queues()
        #expect(queues.map { $0["queue"] as? String } == ["bad"])
        #expect(queues.first?["state"] as? String == "parked")
        #expect(queues.first?["depth"] as? Int == 2)
        #expect(queues.first?["last_error"] as? String == "exited with 65")
    }

    @Test("With --on-failure skip a permanent failure is set aside and its queue goes on")
    func skips() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let script = #"echo "$SLUICE_ID"; test "$SLUICE_ID" = 2 || exit 65"#
        let result = try await place.sluice("run", "--exec", script, "--until-empty", "--on-failure", "skip")
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines == ["1", "2"])
        #expect(try await place.sql("SELECT id, cause, attempts FROM sluice_dead") == "1|failed|1")
    }

    @Test("Status 75 retries after as long as the command says, and that line is not passed on")
    func retryAfter() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script =
            #"test "$SLUICE_ATTEMPT" = 2 && exit 0; echo before; echo "Retry-After: 3600.5"; exit 75"#
        let status = try await Tool.follow(["run", "--file", place.path, "--exec", script]) { line, send in
            #expect(line == "before" || line.hasPrefix("sluice: stopping"))
            guard line == "before" else { return }
            // The attempt's end is in the file before the tool stops.
            try send(.terminate)
        }
        #expect(status == .exited(0))
        let action = try #require(try await place.actions().first)
        #expect(action["attempts"] as? Int == 1)
        let delay = try await place.sql("SELECT retry_delay_us FROM sluice_state_rows")
        #expect(delay == "3600500000")
        // Zero is at once, whatever the policy.
        _ = try await place.sql("UPDATE sluice_actions SET next_attempt_at = 0")
        let again = #"test "$SLUICE_ATTEMPT" = 3 && exit 0; echo "retry-after: 0"; exit 75"#
        let result = try await place.sluice(
            "run",
            "--exec",
            again,
            "--until-empty",
            "--retry-delay",
            "3600"
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(try await place.actions().isEmpty)
    }

    @Test("A delay in the past is none: the policy decides", arguments: ["-5", "-0.001", "nan"])
    func pastDelay(_ delay: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = "echo 'retry-after: \(delay)'; echo asked; exit 75"
        let run = ["run", "--file", place.path, "--exec", script, "--retry-delay", "3600"]
        let status = try await Tool.follow(run) { line, send in
            if line == "asked" { try send(.terminate) }
        }
        #expect(status == .exited(0))
        #expect(try await place.sql("SELECT retry_delay_us > 1800000000 FROM sluice_state_rows") == "1")
    }

    @Test("G9: a command whose output nobody reads holds up no other, and a stop ends it in time")
    func unreadOutput() async throws {
        let place = try Workplace()
        try await place.enqueue("big", "small")
        let (stalled, done) = (try place.makePipe("stalled"), try place.makePipe("done"))
        // More than waits here and in the pipe.
        let script = """
            test "$SLUICE_QUEUE" = small && { echo > '\(done)'; exit 0; }
            while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done
            """
        let words = "run --queue big --queue small --concurrency 2 --grace 1 --kill-after 1"
        let line = """
            "$0" \(words) --file "$1" --exec "$2" > '\(stalled)' & echo $!; wait $!; echo ended $?
            """
        var lines: [String] = []
        _ = try await Tool.follow(["-c", line, Tool.path, place.path, script], of: "/bin/sh") { text, _ in
            lines.append(text)
            guard let process = pid_t(text) else { return }
            _ = try await Tool.launch("sh", ["-c", "read line < '\(done)'"])
            while try !place.isFull(stalled) { _ = try await Tool.launch("true", []) }
            #expect(kill(process, SIGTERM) == 0)
        }
        #expect(lines.last == "ended 11", "\(lines)")
        let action = try #require(try await place.actions().first)
        #expect(action["queue"] as? String == "big" && action["attempts"] as? Int == 0)
    }

    @Test("What a command may leave running with its output or errors open is not waited for, and told once")
    func leftOutput() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let pipe = try place.makePipe("never")
        let script = "(read line < '\(pipe)') & echo ran"
        let result = try await place.sluice("run", "--exec", script, "--leave-descendants", "--until-empty")
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines == ["ran", "ran"])
        #expect(
            result.errors.components(separatedBy: "still has its standard output or error open").count == 2
        )
        try place.release(pipe)
    }

    @Test("Any other status, and a signal, is a retry by the policy, up to --max-attempts")
    func otherStatus() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = #"echo "$SLUICE_ATTEMPT"; test "$SLUICE_ATTEMPT" = 2 && kill -KILL $$; exit 3"#
        let result = try await place.sluice(
            "run",
            "--exec",
            script,
            "--until-empty",
            "--retry-delay",
            "0.01",
            "--max-attempts",
            "3"
        )
        #expect(result.status == .exited(1), "\(result)")
        #expect(result.lines == ["1", "2", "3"])
        let errors = try await place.sql("SELECT number, outcome, error FROM sluice_attempts ORDER BY number")
        #expect(
            errors == """
                1|retry|exited with 3
                2|retry|ended by signal 9
                3|exhausted|exited with 3
                """
        )
    }

    @Test("A payload that the command does not read, and output without end of line, harm nothing")
    func unreadPayload() async throws {
        let place = try Workplace()
        let large = "\"" + String(repeating: "x", count: 1_000_000) + "\""
        let enqueued = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", input: large)
        #expect(enqueued.status == .exited(0))
        let result = try await place.sluice("run", "--exec", "printf done", "--until-empty")
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.output == "done\n")
        let whole = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", input: large)
        #expect(whole.status == .exited(0))
        let counted = try await place.sluice("run", "--exec", "wc -c", "--until-empty")
        #expect(counted.output.trimmingCharacters(in: .whitespacesAndNewlines) == "1000002", "\(counted)")
    }

    @Test(
        "G3: a cancelled command is over when all that it has started is, which is killed if need be",
        arguments: [
            "trap '[ -e \"$log.pid\" ] || exit 1; outlive \"$PPID\"; echo end >> \"$log\"; exit 1' TERM",
            "trap '' TERM",
        ]
    )
    func wholeGroup(trap: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = try place.write(
            "handler.sh",
            """
            log='\(place.path(of: "log"))'
            lives() { grep -q '^State:.[^ZX]' "/proc/$1/status" 2> /dev/null; }
            outlive() { while lives "$1"; do :; done; }
            if [ -e "$log.pid" ]; then
                lives "$(cat "$log.pid")" && echo alive >> "$log"
                echo second >> "$log"
                exit 0
            fi
            # In this order: an attempt that a busy machine cuts short before them does not count.
            \(trap)
            echo $$ > "$log.pid"
            tail -f /dev/null & wait
            """
        )
        // The shell in front has no trap, and ends at once; the one behind it ends later than that.
        let result = try await place.sluice(
            "run",
            "--exec",
            "sh '\(script)'; true",
            "--until-empty",
            "--timeout",
            "0.3",
            "--kill-after",
            // One that ends by itself is given the time.
            trap.contains("end") ? "60" : "1",
            "--retry-delay",
            "0"
        )
        #expect(result.status == .exited(0), "\(result)")
        let lines = try place.text(of: "log").split(separator: "\n").map(String.init)
        #expect(lines == (trap.contains("end") ? ["end", "second"] : ["second"]))
    }

    @Test("Only the queues of --queue run, and --concurrency bounds how many at once")
    func selection() async throws {
        let place = try Workplace()
        try await place.enqueue("a/1", "a/2", "a/3", "b", "c/1")
        // Each leaves a mark while it runs, and would see another's.
        let mark = place.path(of: "mark")
        let script = "mkdir '\(mark)' && echo \"$SLUICE_QUEUE\"; rmdir '\(mark)'"
        let result = try await place.sluice(
            "run",
            "--exec",
            script,
            "--until-empty",
            "--queue",
            "a/*",
            "--queue",
            "b",
            "--concurrency",
            "1"
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines.sorted() == ["a/1", "a/2", "a/3", "b"])
        #expect(try await place.queues().map { $0["queue"] as? String } == ["c/1"])
    }

    @Test(
        "Wrong arguments end with 64",
        arguments: [
            [], ["--exec", "true", "--pipe", "true"], ["--exec", "true", "--concurrency", "0"],
            ["--exec", "true", "--timeout", "0"], ["--exec", "true", "--queue", "a*"],
            ["--exec", "true", "--queue", "a", "--queue", "a"], ["--exec", "true", "--max-attempts", "0"],
            ["--exec", "true", "--grace=-1"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let place = try Workplace()
        let result = try await Tool.run(["run", "--file", place.path] + arguments)
        #expect(result.status == .exited(64), "\(result)")
        #expect(result.errors.hasPrefix("sluice: "))
    }
}
#endif
