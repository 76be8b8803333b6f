#if CommandLineTool && PostgreSQL
import Foundation
import Subprocess
import TestSupport
import Testing

/// `sluice run` and `sluice drain` on a server.
@Suite(
    "Running queues of PostgreSQL by the tool",
    .watched(minutes: 3),
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresRunTests {
    @Test("run --exec and --pipe run each queue in order, with the attempt's facts; empty is status 0")
    func order() async throws {
        let place = try ServerPlace()
        try await place.enqueue("a", "b", "a", "b", "a")
        let exec = try await place.output("run", "--exec", "cat; echo \" $SLUICE_QUEUE\"", "--until-empty")
        let lines = exec.split(separator: "\n")
        #expect(lines.filter { $0.hasSuffix("a") } == ["1 a", "3 a", "5 a"], "\(exec)")
        #expect(lines.filter { $0.hasSuffix("b") } == ["2 b", "4 b"], "\(exec)")
        try await place.enqueue("c", "c")
        let handler = #"""
            while read -r line; do
              echo "$line" >&2
              id=${line#*\"id\":}; echo "{\"id\":${id%%,*},\"outcome\":\"success\"}"
            done
            """#
        let piped = try await place.sluice("run", "--pipe", handler, "--until-empty")
        #expect(piped.status == .exited(0), "\(piped)")
        let keys = piped.errors.split(separator: "\n").filter { $0.contains(#""idempotency_key":""#) }
        #expect(keys.count == 2, "\(piped)")
        #expect(try await place.queues().isEmpty)
    }

    @Test("A run of some queues waits for these alone, and --until-empty waits for retries")
    func someQueues() async throws {
        let place = try ServerPlace()
        try await place.enqueue("mail/a", "chat")
        let script = "test $SLUICE_ATTEMPT = 2"
        let run = try await place.sluice(
            "run",
            "--exec",
            script,
            "--queue",
            "mail/*",
            "--until-empty",
            "--retry-delay",
            "0.1"
        )
        #expect(run.status == .exited(0) && run.errors.isEmpty, "\(run)")
        #expect(try await place.queues().compactMap { $0["queue"] as? String } == ["chat"])
    }

    @Test("drain ends when nothing is due before its deadline, and its status says what is left")
    func drain() async throws {
        let place = try ServerPlace()
        try await place.enqueue("a", "b")
        let empty = try await place.sluice("drain", "--exec", "true", "--deadline", "20s")
        #expect(empty.status == .exited(0), "\(empty)")
        try await place.output(
            "enqueue",
            "--queue",
            "a",
            "--kind",
            "k",
            "--payload",
            "1",
            "--not-before",
            "2999-01-01"
        )
        let later = try await place.sluice("drain", "--exec", "true", "--deadline", "60s")
        #expect(later.status == .exited(10) && later.errors.contains("work is left; the first"), "\(later)")
        try await place.output("enqueue", "--queue", "b", "--kind", "k", "--payload", "1", "--gate", "g")
        let gated = try await place.sluice("drain", "--exec", "true", "--deadline", "60s")
        #expect(gated.status == .exited(1) && gated.errors.contains("1 at a closed gate"), "\(gated)")
    }

    @Test("--for ends a run in time, and what has not ended is given back")
    func limited() async throws {
        let place = try ServerPlace()
        try await place.enqueue("a", "a")
        let pipe = try place.files.makePipe("never")
        let run = try await place.sluice(
            "run",
            "--exec",
            "read line < '\(pipe)'",
            "--for",
            "1s",
            "--grace",
            "0.1",
            "--kill-after",
            "0.1"
        )
        #expect(run.status == .exited(10) && run.errors.contains("work is left that could run"), "\(run)")
        let actions = try await place.sluice("actions", "--json").objects()
        #expect(actions.compactMap { $0["attempts"] as? Int } == [0, 0])
        #expect(try await place.sql("SELECT count(*) FROM @sluice_worker_rows") == "0")
    }

    @Test(
        "A signal lets what runs finish, starts nothing more, and the queues are given back at once",
        arguments: ["run", "drain"]
    )
    func stopped(verb: String) async throws {
        let place = try ServerPlace()
        try await place.enqueue("q", "q")
        let pipe = try place.files.makePipe("go")
        let script = "echo started; read line < '\(pipe)'; echo \"$line\""
        var lines: [String] = []
        let status = try await Tool.follow([verb] + place.options + ["--exec", script]) { line, send in
            lines.append(line)
            if line == "started" { try send(.terminate) }
            if line.hasPrefix("sluice: stopping") { try place.files.release(pipe) }
        }
        #expect(status == .exited(verb == "run" ? 0 : 10), "\(lines)")
        #expect(lines.prefix(3) == ["started", "sluice: stopping; a second signal cancels attempts", "go"])
        let actions = try await place.sluice("actions", "--json").objects()
        #expect(actions.compactMap { $0["id"] as? Int } == [2])
        #expect(try await place.sql("SELECT count(*) FROM @sluice_worker_rows") == "0")
    }

    @Test("G13: what the server says to connections that it ends does not reach the standard error")
    func serverWords() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        let end = """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
            WHERE application_name = '\(place.schema)'
            """
        let script = "test $SLUICE_ATTEMPT = 2 || { psql '\(place.server.url)' -Atqc \"\(end)\" && exit 1; }"
        let url = "\(place.server.url)&application_name=\(place.schema)"
        let words = ["run", "--exec", script, "--until-empty", "--retry-delay", "0.1", "--postgres", url]
        let run = try await Tool.run(words + ["--schema", place.schema])
        #expect(run.status == .exited(0), "\(run)")
        #expect(run.lines.contains("t"), "\(run)")
        let strangers = run.errors.split(separator: "\n").filter { !$0.hasPrefix("sluice: ") }
        #expect(strangers.isEmpty, "\(run)")
    }

    @Test("Two tools share the queues, and no queue runs twice at a time")
    func together() async throws {
        let place = try ServerPlace()
        let lines = (0..<60).map { #"{"queue":"q\#($0 % 6)","kind":"k","payload":\#($0)}"# + "\n" }.joined()
        try await place.output("import", "--from", "-", input: lines)
        let folder = place.files.path(of: "slots")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A directory can be made once.
        let script = """
            mkdir '\(folder)'/$SLUICE_QUEUE || { echo overlap; exit 65; }
            echo "$SLUICE_QUEUE $SLUICE_ID"; rmdir '\(folder)'/$SLUICE_QUEUE
            """
        let arguments = ["run", "--exec", script, "--until-empty", "--concurrency", "3"] + place.options
        let results = try await withThrowingTaskGroup(of: Tool.Result.self) { group in
            for _ in 0..<2 { group.addTask { try await Tool.run(arguments) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0.status == .exited(0) }, "\(results)")
        let ran = results.flatMap(\.lines)
        #expect(Set(ran).count == 60 && ran.count == 60, "\(ran)")
        #expect(!ran.contains("overlap"))
    }

    @Test("G3: Ctrl-Z does not stop a run, whose lease would end while its command runs")
    func suspended() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        let go = try place.files.makePipe("go")
        var remarks: [String] = []
        let run = ["run"] + place.options + ["--exec", "echo started; read line < '\(go)'", "--until-empty"]
        let status = try await Tool.follow(run) { line, _ in
            remarks.append(line)
            guard line == "started" else { return try place.files.release(go) }
            let name = try await place.sql("SELECT process FROM @sluice_runners")
            let number = try #require(name.split(separator: "/").last)
            let signalled = try await Tool.launch("sh", ["-c", "kill -TSTP \(number)"])
            try #require(signalled.status == .exited(0), "\(signalled)")
        }
        #expect(status == .exited(0))
        #expect(remarks.count == 2 && remarks.last?.contains("goes on at Ctrl-Z") == true, "\(remarks)")
    }

    @Test("After a killed run its commands end, and another process runs its actions when the lease is over")
    func killed() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q", "q")
        let pipe = try place.files.makePipe("never")
        let started = place.files.path(of: "pid")
        let script = """
            if test -e '\(started)'; then echo "again $SLUICE_ID $SLUICE_ATTEMPT"
            else echo $$ > '\(started)'; echo started; trap '' TERM; read line < '\(pipe)'; fi
            """
        let limits = ["--exec", script, "--lease", "2s", "--kill-after", "0.2"]
        let status = try await Tool.follow(["run"] + place.options + limits) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(SIGKILL))
        let next = try await Tool.run(["run"] + place.options + limits + ["--until-empty"])
        #expect(next.status == .exited(0), "\(next)")
        #expect(next.lines == ["again 1 1", "again 2 1"], "\(next)")
        let pid = try #require(pid_t(try place.files.text(of: "pid").trimmingCharacters(in: .newlines)))
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
    }
}
#endif
