#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

/// What becomes of the commands of a run that is killed, or stopped together with them.
@Suite("The commands of a run that ends", .watched(minutes: 3)) struct KeptCommandTests {
    /// Two commands of an action: the first stays until it is killed, with a child; the second tells what it
    /// finds.
    private static func script(_ place: Workplace, heeding signals: String) -> String {
        """
        log='\(place.path(of: "log"))'
        if [ -e "$log" ]; then
            for p in $(cat "$log"); do
                grep -q '^State:.[^ZX]' "/proc/$p/status" 2> /dev/null && echo alive
            done
            echo second
            exit 0
        fi
        \(signals)
        sh -c "\(signals); echo \\$\\$ > '$log.child'; tail -f /dev/null > /dev/null; :" &
        while [ ! -s "$log.child" ]; do :; done
        echo "$$ $(cat "$log.child")" > "$log.new"; mv "$log.new" "$log"
        echo started
        wait
        """
    }

    /// Whether a process is there and has not ended.
    private static func lives(_ process: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let name = status.lastIndex(of: ")")
        else { return false }
        return status[name...].split(separator: " ").dropFirst().first.map { $0 != "Z" && $0 != "X" } ?? false
    }

    /// Follows a run that is killed, without its remarks.
    private func follow(
        _ arguments: [String],
        _ body: (String, (Signal) throws -> Void) async throws -> Void
    ) async throws -> TerminationStatus {
        let shell = ["-c", "exec \"$0\" \"$@\" 2> /dev/null", Tool.path]
        return try await Tool.follow(shell + arguments, of: "/bin/sh", body)
    }

    @Test(
        "G3: a killed run's commands are ended, with all of their groups, before their actions start again",
        arguments: ["trap '' TERM HUP INT QUIT", "trap 'exit 3' TERM", ":"]
    )
    func killed(signals: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = try place.write("handler.sh", Self.script(place, heeding: signals))
        let run = ["run", "--file", place.path, "--exec", "sh '\(script)'; true"]
        let status = try await follow(run + ["--kill-after", "1"]) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        let next = try await Tool.run(run + ["--until-empty"])
        #expect(next.status == .exited(0), "\(next)")
        #expect(next.lines == ["second"])
    }

    @Test("G3: a killed run's command can write to the end: SIGTERM and --kill-after end it, not SIGPIPE")
    func writing() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let done = try place.makePipe("done")
        // More than the pipes take unread; and dash itself writes of its child's end before it traps.
        let log = place.path(of: "log")
        let script = try place.write(
            "handler.sh",
            """
            trap 'for i in 1 2; do head -c 200000 /dev/zero >&$i; done; echo ended > "\(log)"' TERM
            echo started
            sh -c 'kill -STOP $$'
            echo > '\(done)'
            """
        )
        let run = ["run", "--file", place.path, "--exec", "exec sh '\(script)'", "--kill-after", "60"]
        let status = try await follow(run) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        _ = try await Tool.launch("timeout", ["60", "sh", "-c", "read line < '\(done)'"])
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "ended\n")
    }

    @Test(
        "G3: so is a handler process, and what it had in work is given to the next one only then",
        .needs("python3")
    )
    func killedPipe() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let body = """
            import signal, subprocess
            if os.path.exists(log_path + ".pid"):
                pids = open(log_path + ".pid").read().split()
                note(f"alive {[p for p in pids if os.path.exists('/proc/' + p + '/cwd')]}")
                say({"id": r["id"], "outcome": "success"})
                continue
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(["tail", "-f", "/dev/null"], stdin=subprocess.DEVNULL)
            with open(log_path + ".new", "w") as f: f.write(f"{os.getpid()} {child.pid}")
            os.rename(log_path + ".new", log_path + ".pid")
            sys.stderr.write("started\\n"); sys.stderr.flush()
            while True: signal.pause()
            """
        let log = place.path(of: "log")
        let script = try place.write(
            "handler.py",
            "log_path = \"\(log)\"\n" + HandlerScript.text(log: log, body)
        )
        let run = ["run", "--file", place.path, "--pipe", "exec python3 '\(script)'", "--kill-after", "1"]
        let status = try await Tool.follow(run) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        let next = try await Tool.run(run + ["--until-empty"])
        #expect(next.status == .exited(0), "\(next)")
        #expect(try place.text(of: "log").split(separator: "\n").first == "alive []")
    }

    @Test(
        "G15: while a killed run's command is being ended, its queue and a new run name the process that does"
    )
    func because() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = try place.write("handler.sh", Self.script(place, heeding: "trap '' TERM"))
        let run = ["run", "--file", place.path, "--queue", "q", "--exec", "exec sh '\(script)'"]
        let status = try await follow(run + ["--kill-after", "3600"]) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        let leader = try #require(pid_t(try place.text(of: "log").split(separator: " ")[0]))
        // The end may have been noticed already when all else has.
        let show = try await place.sluice("show", "q")
        let owner = try #require(show.lines.last { $0.contains("owned by process ") }, "\(show)")
        let keeper = try #require(owner.split(separator: " ").last.flatMap { pid_t($0) })
        #expect(kill(keeper, 0) == 0)
        #expect(try await place.sluice("doctor").output.contains("process \(keeper) ends its commands"))
        // It runs until its command has ended, also for acts.
        let edit = try await place.sluice("edit", "1", "--payload", "2", "--unless-running")
        #expect(edit.status == .exited(1) && edit.output == "1 runs and is left as it is\n", "\(edit)")
        // What it did not run waits for a run, and not for the keeper.
        try await place.enqueue("r")
        #expect(try await place.queues().last?["because"] as? String == "broker stopped")
        var hasEnded = false
        let next = try await Tool.follow(run + ["--until-empty"]) { line, _ in
            if line.contains("has died: its actions wait until process \(keeper)") {
                hasEnded = true
                #expect(kill(-leader, SIGKILL) == 0)
            } else if !line.hasPrefix("sluice: ") {
                #expect(line == "second" && hasEnded)
            }
        }
        #expect(next == .exited(0))
    }

    @Test(
        "G7: a signal to a run and its commands, as by systemd, costs no attempt",
        arguments: ["exec", "pipe"]
    )
    func wholeService(handler: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        // A shell whose program was ended tells so by 128 and the signal's number.
        for command in [
            "echo $$ >&2; read line < '\(pipe)'", "sh -c 'echo $$ >&2; read line < \"\(pipe)\"'; exit $?",
            // Many catch it, and end with a status of their own.
            "trap 'exit 1' TERM; echo $$ >&2; read line < '\(pipe)'",
        ] {
            let run = ["run", "--file", place.path, "--\(handler)", command, "--max-attempts", "1"]
            let status = try await Tool.follow(run) { line, send in
                guard let process = pid_t(line) else { return }
                // First the command, as nobody promises an order.
                #expect(kill(process, SIGTERM) == 0)
                try send(.terminate)
            }
            #expect(status == .exited(0))
            let action = try #require(try await place.actions().first)
            #expect(action["attempts"] as? Int == 0)
            #expect(try await place.queues().first?["state"] as? String != "parked")
        }
    }

    @Test("G5: a command has all of its payload from its start, though the run is killed before it reads")
    func payload() async throws {
        let place = try Workplace()
        let payload = "\"" + String(repeating: "x", count: 1_000_000) + "\""
        _ = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", input: payload)
        let (go, done) = (try place.makePipe("go"), try place.makePipe("done"))
        let script = "trap '' TERM; echo started; read line < '\(go)'; wc -c > '\(place.path(of: "count"))'"
        let run = [
            "run", "--file", place.path, "--exec", "\(script); echo > '\(done)'", "--kill-after", "60",
        ]
        let status = try await follow(run) { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        try place.release(go)
        _ = try await Tool.launch("sh", ["-c", "read line < '\(done)'"])
        #expect(try place.text(of: "count").trimmingCharacters(in: .whitespacesAndNewlines) == "1000002")
    }

    @Test("A run whose keeper of commands is killed ends like one that is killed itself")
    func keeperKilled() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        var command: pid_t?
        // The parent of its parent.
        let find = "read -r pid name state keeper rest < \"/proc/$PPID/stat\""
        let script = "\(find); echo \"$keeper $$\"; read line < '\(pipe)'"
        let status = try await Tool.follow(["run", "--file", place.path, "--exec", script]) { line, _ in
            let processes = line.split(separator: " ").compactMap { pid_t($0) }
            guard processes.count == 2 else { return #expect(line.contains("has been killed")) }
            command = processes[1]
            #expect(kill(processes[0], SIGKILL) == 0)
        }
        #expect(status == .exited(70))
        // Killed, though the system's first process may not have asked for its status yet.
        let killed = try #require(command)
        while Self.lives(killed) {}
        let next = try await place.sluice("run", "--exec", "echo again", "--until-empty")
        #expect(next.output == "again\n")
    }
}
#endif
