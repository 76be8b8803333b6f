#if CommandLineTool && os(Linux)
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("What the process may not have", .watched) struct LimitTests {
    /// Runs the tool with a limit of descriptors that it cannot raise.
    private func run(_ limit: Int, _ arguments: [String]) async throws -> Tool.Result {
        let script = "ulimit -n \(limit); exec \"$0\" \"$@\""
        return try await Tool.launch("sh", ["-c", script, Tool.path] + arguments)
    }

    @Test(
        "With few descriptors as many commands run at a time as they allow, and no attempt is spent in vain",
        arguments: [48, 64, 256]
    )
    func few(limit: Int) async throws {
        let place = try Workplace()
        let lines = (1...100).map { "{\"q\": \($0)}" }.joined(separator: "\n")
        _ = try await place.sluice(
            "enqueue",
            "--kind",
            "k",
            "--queue-field",
            "q",
            "--from",
            "-",
            input: lines
        )
        // Its limit is the one that the tool was started with.
        let script = "test $(ulimit -n) = \(limit) && echo $SLUICE_ATTEMPT"
        let result = try await run(
            limit,
            ["run", "--file", place.path, "--exec", script, "--concurrency", "80", "--until-empty"]
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines == Array(repeating: "1", count: 100))
        #expect(result.errors.contains(" instead of 80 commands run at the same time"), "\(result)")
    }

    @Test("With too few to run at all it says so, and ends in no trap", arguments: [10, 16, 20, 24, 28, 31])
    func tooFew(limit: Int) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await run(limit, ["run", "--file", place.path, "--exec", "true", "--until-empty"])
        #expect(result.status == .exited(73), "\(result)")
        #expect(result.errors.contains("ulimit -n"), "\(result)")
        #expect(try await place.actions().first?["attempts"] as? Int == 0)
    }

    @Test(
        "With too few descriptors any verb says so, and ends in no trap",
        arguments: ["enqueue", "queues", "doctor"],
        [4, 8, 12, 19]
    )
    func tooFewForVerb(_ verb: String, limit: Int) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let words = verb == "enqueue" ? ["--queue", "q", "--kind", "k"] : []
        let result = try await run(limit, [verb, "--file", place.path] + words)
        #expect(result.status == .exited(73), "\(result)")
        #expect(result.errors.contains("ulimit -n"), "\(result)")
        #expect(try await place.actions().count == 1)
    }

    @Test(
        "With too few threads any verb says so at once",
        arguments: ["enqueue", "queues", "show", "doctor", "run"],
        [1, 4, 6]
    )
    func tooFewThreadsForVerb(_ verb: String, limit: Int) async throws {
        // The limit is of those of one user, and none of root's.
        guard geteuid() == 0 else { return }
        let place = try Workplace()
        try await place.enqueue("q")
        try #require(chmod(place.directory, 0o777) == 0 && chmod(place.path, 0o666) == 0)
        let words = [
            "enqueue": ["--queue", "q", "--kind", "k"], "show": ["q"],
            "run": ["--exec", "true", "--until-empty"],
        ]
        // A user of its own for each, that has no other process.
        let number = 65_000 + limit + 10 * (words.keys.sorted().firstIndex(of: verb) ?? verb.utf8.count)
        let user = ["--reuid=\(number)", "--clear-groups", "prlimit", "--nproc=\(limit)"]
        let command = user + [Tool.path, verb, "--file", place.path] + (words[verb] ?? [])
        let result = try await Tool.launch("setpriv", command)
        #expect(result.status == .exited(73), "\(result)")
        #expect(result.errors.contains("ulimit -u"), "\(result)")
        #expect(try await place.actions().count == 1)
    }

    @Test("With too few threads to run at all it says so at once", arguments: [4, 6, 8])
    func tooFewThreads(limit: Int) async throws {
        // The limit is of those of one user, and none of root's.
        guard geteuid() == 0 else { return }
        let place = try Workplace()
        try await place.enqueue("q")
        try #require(chmod(place.directory, 0o777) == 0 && chmod(place.path, 0o666) == 0)
        // A user of its own for each, that has no other process.
        let user = ["setpriv", "--reuid=\(64_000 + limit)", "--clear-groups", "prlimit", "--nproc=\(limit)"]
        let command = user + [Tool.path, "run", "--file", place.path, "--exec", "true", "--until-empty"]
        let result = try await Tool.launch(command[0], Array(command.dropFirst()))
        #expect(result.status == .exited(73), "\(result)")
        #expect(result.errors.contains("ulimit -u"), "\(result)")
        #expect(try await place.actions().first?["attempts"] as? Int == 0)
    }

    @Test("A soft limit is raised as far as is needed, and not for the commands")
    func raised() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let shell =
            "ulimit -Sn 32; exec \"$0\" run --file \"$1\" --exec 'ulimit -Sn' --concurrency 80 --until-empty"
        let result = try await Tool.launch("sh", ["-c", shell, Tool.path, place.path])
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.output == "32\n")
        #expect(result.errors == "")
    }

    @Test("G15: while no descriptor is left an action waits, says why, and has spent no attempt")
    func none() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        let go = try place.makePipe("go")
        let script = "echo started; test $SLUICE_QUEUE = b || read line < '\(go)'"
        let arguments = [
            "run", "--file", place.path, "--exec", script, "--concurrency", "2", "--until-empty",
        ]
        var remarks: [String] = []
        var process = 0
        let status = try await Tool.follow(arguments) { line, _ in
            remarks.append(line)
            switch remarks.count {
            case 1:
                #expect(line == "started")
                let doctor = try await place.sluice("doctor", "--json").objects()
                let runners = try #require(doctor.first?["runners"] as? [[String: Any]])
                process = try #require(runners.first?["pid"] as? Int)
                // All but one: now and then libdispatch opens a file of /proc, and traps if it cannot
                // (_dispatch_workq_count_runnable_workers).
                let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
                    .compactMap { Int($0) }
                let free = try #require((0...).first { !open.contains($0) })
                try await limit(process, to: "\(free + 1):1024")
                try await place.enqueue("b")
            case 2:
                try #require(line.hasPrefix("sluice: no command can be started now: "))
                #expect(line.contains("raise `ulimit -n`"))
                // The remark comes before the action is given back.
                var status: [String: Any] = [:]
                while status["last_error"] as? String == nil {
                    status = try #require(try await place.queues().last)
                }
                #expect((status["last_error"] as? String)?.contains("no command can be started now") == true)
                #expect(try await place.actions().last?["attempts"] as? Int == 0)
                let doctor = try await place.sluice("doctor")
                #expect(
                    doctor.output.contains("process \(process), which runs the queues, has "),
                    "\(doctor)"
                )
                try await limit(process, to: "1024:1024")
            default:
                #expect(line == "started")
                try place.release(go)
            }
        }
        #expect(status == .exited(0))
        #expect(remarks.count == 3, "\(remarks)")
    }

    private func limit(_ process: Int, to limits: String) async throws {
        let result = try await Tool.launch("prlimit", ["--pid", "\(process)", "--nofile=\(limits)"])
        try #require(result.status == .exited(0), "\(result)")
    }
}
#endif
