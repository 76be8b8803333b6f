#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Stopping sluice run and sluice drain", .watched) struct StopTests {
    @Test(
        "G7: SIGTERM, SIGINT, SIGHUP and SIGQUIT let what runs finish, and start nothing more",
        arguments: [Signal.terminate, .interrupt, .terminalClosed, .quit],
        ["run", "drain"]
    )
    func graceful(signal: Signal, command: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let pipe = try place.makePipe("go")
        let script = "echo started; read line < '\(pipe)'; echo \"$line\""
        var lines: [String] = []
        let status = try await Tool.follow([command, "--file", place.path, "--exec", script]) { line, send in
            lines.append(line)
            if line == "started" { try send(signal) }
            if line.hasPrefix("sluice: stopping") { try place.release(pipe) }
        }
        // A drain tells what it has left.
        #expect(status == .exited(command == "run" ? 0 : 10))
        #expect(lines.prefix(3) == ["started", "sluice: stopping; a second signal cancels attempts", "go"])
        #expect(command == "drain" || lines.count == 3)
        let actions = try await place.actions()
        #expect(actions.map { $0["id"] as? Int } == [2])
        #expect(actions.map { $0["attempts"] as? Int } == [0])
    }

    @Test("A second signal cancels what runs, and that costs no attempt")
    func secondSignal() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let script = "trap 'echo terminated; exit 1' TERM; echo started; read line < '\(pipe)'"
        let arguments = ["run", "--file", place.path, "--exec", script, "--grace", "3600"]
        var lines: [String] = []
        let status = try await Tool.follow(arguments) { line, send in
            lines.append(line)
            if line == "started" || line.hasPrefix("sluice: stopping") { try send(.terminate) }
        }
        #expect(status == .exited(0))
        #expect(lines.prefix(2) == ["started", "sluice: stopping; a second signal cancels attempts"])
        let actions = try await place.actions()
        #expect(actions.map { $0["attempts"] as? Int } == [0])
        #expect(actions.map { $0["last_error"] is NSNull } == [true])
    }

    @Test("With --grace 0 one signal is enough, and a command that ignores SIGTERM is killed")
    func stubborn() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let script = "trap '' TERM; echo started $$; read line < '\(pipe)'"
        var process: pid_t?
        let arguments = ["--exec", script, "--grace", "0", "--kill-after", "0.1"]
        let status = try await Tool.follow(["run", "--file", place.path] + arguments) { line, send in
            guard line.hasPrefix("started ") else { return }
            process = pid_t(line.dropFirst("started ".count))
            try send(.terminate)
        }
        #expect(status == .exited(0))
        let stubborn = try #require(process)
        #expect(kill(stubborn, 0) == -1 && errno == ESRCH)
        #expect(try await place.actions().map { $0["attempts"] as? Int } == [0])
    }

    @Test("An attempt that outlives --timeout is cancelled and tried again")
    func timeout() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let script = "test \"$SLUICE_ATTEMPT\" -ge 2 || read line < '\(pipe)'"
        let result = try await place.sluice(
            "run",
            "--exec",
            script,
            "--until-empty",
            "--timeout",
            "2",
            "--retry-delay",
            "0.5"
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(try await place.actions().isEmpty)
        #expect(try await place.sql("SELECT count(*) FROM sluice_dead") == "0")
    }

    @Test("A second process shares the work, and goes on with what a killed one was at")
    func twoProcesses() async throws {
        let place = try Workplace()
        try await place.enqueue("slow")
        let pipe = try place.makePipe("go")
        let script = "echo started; read line < '\(pipe)'"
        let slow = ["run", "--file", place.path, "--queue", "slow", "--exec", script]
        let status = try await Tool.follow(slow) { line, send in
            guard line == "started" else { return }
            try await place.enqueue("quick")
            let rest = ["run", "--file", place.path, "--exec", "echo $SLUICE_ID", "--until-empty"]
            var ids: [String] = []
            let second = try await Tool.follow(rest) { line, _ in
                ids.append(line)
                guard ids.count == 1 else { return }
                let running = try await place.sluice("show", "slow")
                #expect(
                    running.lines.contains { $0.hasPrefix("and because") && $0.contains("owned by process") }
                )
                try send(.kill)
            }
            #expect(second == .exited(0))
            // It may have said that it waits for the other one.
            #expect(ids.filter { !$0.hasPrefix("sluice: ") } == ["2", "1"])
        }
        #expect(status == .signaled(9))
    }

    @Test("Where the end of the terminal is ignored, as by nohup, it stops nothing")
    func nohup() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("go")
        let script = "echo started; read line < '\(pipe)'; echo \"$line\""
        let shell = """
            trap '' HUP
            exec "$0" run --file "$1" --exec "$2" --until-empty
            """
        var lines: [String] = []
        let status = try await Tool.follow(
            ["-c", shell, Tool.path, place.path, script],
            of: "/bin/sh"
        ) { line, send in
            lines.append(line)
            guard line == "started" else { return }
            try send(.terminalClosed)
            try place.release(pipe)
        }
        #expect(status == .exited(0))
        #expect(lines == ["started", "go"])
    }
}
#endif
