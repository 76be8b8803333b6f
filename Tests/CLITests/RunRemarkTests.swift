#if CommandLineTool
import Foundation
import Sluice
import SluiceSQLite
import Subprocess
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("What a run says of its file, its concurrency and its failures", .watched) struct RunRemarkTests {
    @Test("A new file is named by what runs it, as it could be a slip", arguments: ["run", "drain"])
    func newFile(verb: String) async throws {
        let place = try Workplace()
        let arguments = ["--exec", "true"] + (verb == "run" ? ["--until-empty"] : [])
        let first = try await Tool.run([verb, "--file", place.path] + arguments)
        #expect(first.status == .exited(0))
        #expect(first.errors.contains("\(place.path) is new"), "\(first)")
        let second = try await Tool.run([verb, "--file", place.path] + arguments)
        #expect(second.allErrors.isEmpty, "\(second)")
    }

    @Test("Tables that are added to a database of others are told of, once")
    func database() async throws {
        let place = try Workplace()
        _ = try await place.sql("CREATE TABLE notes (text)")
        let remark =
            "the tables of the queues were added to \(place.path), a database that has tables of others"
        let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
        let first = try await Tool.run(words)
        #expect(first.status == .exited(0) && first.errors.contains(remark), "\(first)")
        let second = try await Tool.run(words)
        #expect(second.status == .exited(0) && second.errors.isEmpty, "\(second)")
    }

    @Test("A new file is none of others while another process opens it too")
    func newTogether() async throws {
        let place = try Workplace()
        // So far the other process has come: the file has a page, and no table.
        _ = try await place.sql("PRAGMA journal_mode = WAL")
        let run = try await place.sluice("run", "--exec", "true", "--until-empty")
        #expect(run.status == .exited(0) && !run.errors.contains("tables of others"), "\(run)")
        #expect(run.errors.contains("\(place.path) is new"), "\(run)")
    }

    @Test("It says that more could run than there are processors")
    func processors() async throws {
        let place = try Workplace()
        let count = ProcessInfo.processInfo.activeProcessorCount
        for number in 0...count { try await place.enqueue("w/\(number)") }
        let more = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        #expect(
            more.errors.contains("as many as there are processors: for more give --concurrency"),
            "\(more)"
        )
        let asked = try await place.sluice("run", "--exec", "true", "--until-empty", "--concurrency", "99")
        #expect(!asked.errors.contains("processors"), "\(asked)")
        try await place.enqueue("q", "q", "q")
        let one = try await place.sluice("run", "--queue", "q", "--exec", "true", "--until-empty")
        #expect(!one.errors.contains("processors"), "\(one)")
    }

    @Test("It says why fewer run at a time than asked, whatever keeps them")
    func fewer() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "a", "b", "b")
        func run(_ more: String...) async throws -> String {
            let arguments = ["run", "--file", place.path, "--exec", "exit 65", "--concurrency", "8"]
            return try await Tool.run(arguments + more + ["--until-empty"]).errors
        }
        let two = "2 commands run at a time, as all 4 actions are in 2 queues, which keep their order"
        #expect(try await run().contains(two))
        _ = try await place.sluice("retry", "--all")
        // The pattern meets no queue.
        #expect(try await run("--discipline", "q/*=concurrent:8").contains(two))
        _ = try await place.sluice("retry", "--all")
        let more = try await run("--discipline", "a=concurrent:8")
        #expect(more.contains("3 commands run at a time"), "\(more)")
        _ = try await place.sluice("retry", "--all")
        #expect(try await !run("--discipline", "concurrent:8").contains("at a time"))
    }

    @Test("It says why fewer run at a time than asked also if the actions come after its start, and once")
    func later() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = "echo started; read line < '\(try place.makePipe("never"))'"
        let arguments = ["run", "--file", place.path, "--exec", script, "--grace", "0"]
        var said: [String] = []
        let status = try await Tool.follow(arguments + ["--concurrency", "8"]) { line, send in
            if line == "started" { return try await place.enqueue("q", "q", "q") }
            said.append(line)
            if said.count == 1 { try send(.terminate) }
        }
        #expect(status == .exited(0))
        // As many as there are at that moment.
        let remark =
            #/sluice: 1 command runs at a time, as all [234] actions are in the queue 'q', which keeps .+/#
        #expect(said.first?.wholeMatch(of: remark) != nil, "\(said)")
        #expect(said.count { $0.contains("at a time") } == 1, "\(said)")
    }

    @Test("It says that more could run than there are processors also if the actions come after its start")
    func processorsLater() async throws {
        let place = try Workplace()
        let count = ProcessInfo.processInfo.activeProcessorCount
        try await place.enqueue("w")
        let script = "echo started; read line < '\(try place.makePipe("never"))'"
        var (isAsked, said) = (false, [String]())
        let arguments = ["run", "--file", place.path, "--exec", script, "--grace", "0"]
        let status = try await Tool.follow(arguments) { line, send in
            if line == "started" {
                guard !isAsked else { return }
                isAsked = true
                for number in 1...count { try await place.enqueue("w/\(number)") }
            } else {
                said.append(line)
                if said.count == 1 { try send(.terminate) }
            }
        }
        #expect(status == .exited(0))
        #expect(said.first?.contains("as many as there are processors") == true, "\(said)")
    }

    @Test("A discipline that allows more than may run is a matter only if so many actions could run")
    func slots() async throws {
        let place = try Workplace()
        func run(_ more: String...) async throws -> String {
            let rules = ["--concurrency", "2", "--discipline", "concurrent:4"]
            let arguments = ["run", "--file", place.path, "--exec", "true", "--until-empty"]
            return try await Tool.run(arguments + rules + more).errors
        }
        try await place.enqueue("q")
        #expect(try await run() == "")
        try await place.enqueue("q", "q", "q")
        let more = try await run()
        #expect(
            more == "sluice: 2 commands run at the same time, where the discipline allows 4: "
                + "give --concurrency 4\n"
        )
    }

    @Test("A run with --pipe speaks of actions, as it has one command")
    func pipe() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let answer =
            #"read line; echo '{"id":1,"outcome":"success"}'; read line; "#
            + #"echo '{"id":2,"outcome":"success"}'; cat"#
        let run = try await place.sluice("run", "--pipe", answer, "--concurrency", "4", "--until-empty")
        #expect(run.status == .exited(0), "\(run)")
        #expect(run.errors.hasPrefix("sluice: 1 action runs at a time, as all 2 actions"), "\(run)")
    }

    @Test("If the file goes, a run says so once, and its last line counts what it has done")
    func gone() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let script = "test $SLUICE_ID = 1 || rm '\(place.path)'*"
        let run = try await place.sluice("run", "--exec", script)
        #expect(run.status == .exited(74), "\(run)")
        let lines = run.allErrors.split(separator: "\n")
        #expect(lines.count == 2, "\(run)")
        #expect(lines.first?.contains("was renamed or removed") == true, "\(run)")
        // The second may have been settled in the file that is gone.
        #expect(lines.last?.wholeMatch(of: /sluice: [12] done, 0 retried, 0 failed/) != nil, "\(run)")
    }

    @Test("While another connection keeps the write lock from a run that starts, it says who that is")
    func locked() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let connection = try Connection(path: place.path, mode: .write)
        try connection.beginImmediate()
        var lines: [String] = []
        let arguments = ["run", "--file", place.path, "--exec", "echo ran", "--until-empty"]
        let status = try await Tool.follow(arguments) { line, _ in
            lines.append(line)
            if lines.count == 1 { connection.rollback() }
        }
        #expect(status == .exited(0), "\(lines)")
        #expect(lines.first?.contains("process \(getpid()) ") == true, "\(lines)")
        #expect(lines.dropFirst() == ["ran"])
    }

    @Test("A call that the write lock keeps from its work names who holds it", arguments: [true, false])
    func lockedOut(isRun: Bool) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let connection = try Connection(path: place.path, mode: .write)
        try connection.beginImmediate()
        let words = isRun ? ["run", "--exec", "true", "--for", "5s"] : ["skip", "q"]
        let result = try await Tool.run(words + ["--file=\(place.path)"])
        connection.rollback()
        #expect(result.status == .exited(75), "\(result)")
        let last = result.errors.split(separator: "\n").last ?? ""
        #expect(last.hasPrefix("sluice: process \(getpid()) (") && last.contains("holds the write lock"))
    }

    @Test("Spans are written alike in all options")
    func spans() async throws {
        let place = try Workplace()
        let spans = [
            "--timeout", "1m", "--retry-delay", "10 s", "--retry-limit", "2h", "--grace", "3s",
            "--kill-after",
            "1.5",
        ]
        let wrong = try await Tool.run(["run", "--file", place.path, "--exec", "true"] + spans)
        #expect(wrong.status == .exited(64) && wrong.errors.contains("10 s"), "\(wrong)")
        var right = spans
        right[3] = "1w"
        let result = try await Tool.run(
            ["run", "--file", place.path, "--exec", "true", "--until-empty"] + right
        )
        #expect(result.status == .exited(0), "\(result)")
        let long = try await Tool.run(["run", "--file", place.path, "--exec", "true", "--timeout", "600w"])
        #expect(long.status == .exited(64) && long.errors.contains("--timeout is longer than ten years"))
    }

    @Test("A time can be a span from now, and a bare number is refused")
    func times() async throws {
        let place = try Workplace()
        let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
        let start = Date()
        try await #expect(
            Tool.run(words + ["--not-before", "2h", "--expires-at", "1d"]).status == .exited(0)
        )
        let shown = try #require(try await place.sluice("show", "--id", "1", "--json").objects().first)
        func hours(_ field: String) throws -> Double {
            let text = try #require(shown[field] as? String)
            let date = try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            return date.timeIntervalSince(start) / 3_600
        }
        #expect(try (2..<2.5).contains(hours("at")))
        #expect(try (24..<24.5).contains(hours("expires_at")))
        _ = try await place.sluice("reschedule", "1", "--at", "3h")
        _ = try await place.sluice("expire", "1", "--at", "2w")
        let later = try #require(try await place.sluice("show", "--id", "1", "--json").objects().first)
        #expect(later["at"] as? String != shown["at"] as? String)
        #expect(later["expires_at"] as? String != shown["expires_at"] as? String)
        for number in ["1790000000", "50"] {
            let result = try await Tool.run(words + ["--not-before", number])
            #expect(result.status == .exited(64), "\(result)")
        }
    }

    @Test("A slip in a name is told of: nothing of that name is there")
    func slips() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let none = "no queue that has actions matches 'typo'"
        for verb in ["queues", "actions"] {
            let result = try await place.sluice(verb, "--queue", "typo")
            #expect(result.status == .exited(0) && result.errors.contains(none), "\(result)")
            #expect(try await place.sluice(verb, "--queue", "q").errors.isEmpty)
        }
        #expect(try await place.sluice("remove", "typo").errors.contains(none))
        #expect(
            try await place.sluice("move", "1", "--to", "typo").errors.contains(
                "'typo' had no actions before"
            )
        )
        #expect(try await place.sluice("move", "2", "--to", "typo").errors.isEmpty)
        let dead = try await Tool.run(["dead", "list", "--file", place.path, "--queue", "typo"])
        #expect(dead.errors.contains("no dead letter is of a queue that matches 'typo'"), "\(dead)")
        let unknown = try await place.sluice("show", "--id", "7")
        #expect(unknown.status == .exited(1) && unknown.errors.contains("7 is not in the file"), "\(unknown)")
        let path = try await Tool.run(["queues", place.path])
        #expect(path.errors.contains("is given as --file"), "\(path)")
        let usage = try await place.sluice("retry")
        #expect(usage.errors.contains("see `sluice retry --help`"), "\(usage)")
        #expect(!usage.errors.contains("<subcommand>"), "\(usage)")
    }

    @Test("A skipped action keeps its last error, unless a reason is given")
    func skip() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        _ = try await place.sluice("run", "--exec", "echo gone >&2; exit 65", "--until-empty")
        _ = try await place.sluice("skip", "q")
        let failed = try await Tool.run(["dead", "list", "--json", "--file", place.path]).objects()
        #expect(failed.map { $0["error"] as? String } == ["exited with 65: gone"])
        _ = try await place.sluice("skip", "q")
        let never = try await Tool.run(["dead", "list", "--json", "--file", place.path]).objects()
        #expect(never.first?["error"] as? String == "skipped")
    }
}
#endif
