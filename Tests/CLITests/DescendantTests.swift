#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

/// Commands whose processes leave their process group, as many wrappers have it.
@Suite("What a command has started, in groups of their own", .watched(minutes: 3))
struct DescendantTests {
    /// A handler that stays until it is killed, as a child of a wrapper; the second looks for the first.
    private static func script(_ place: Workplace) throws -> String {
        let log = place.path(of: "log")
        return try place.write(
            "handler.sh",
            """
            if [ -e '\(log)' ]; then
                grep -q '^State:.[^ZX]' "/proc/$(cat '\(log)')/status" 2> /dev/null && echo alive
                echo second
                exit 0
            fi
            trap '' TERM
            echo $$ > '\(log).new'; mv '\(log).new' '\(log)'
            echo started
            exec tail -f /dev/null
            """
        )
    }

    static let wrappers = ["timeout 3600", "setsid -w", "sh -mc 'sh \"$0\" & wait'"]

    @Test("G3: an attempt that is timed out ends when nothing of its command is left", arguments: wrappers)
    func timedOut(wrapper: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let command = "\(wrapper) \(wrapper.hasPrefix("sh") ? "" : "sh") '\(try Self.script(place))'"
        let result = try await place.sluice(
            "run",
            "--exec",
            command,
            "--timeout",
            "1",
            "--kill-after",
            "1",
            "--retry-delay",
            "0.1",
            "--until-empty"
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines == ["started", "second"], "\(result)")
    }

    @Test("G3: a killed run's commands have ended before their actions start again", arguments: wrappers)
    func killed(wrapper: String) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let command = "\(wrapper) \(wrapper.hasPrefix("sh") ? "" : "sh") '\(try Self.script(place))'"
        let run = ["run", "--file", place.path, "--exec", command, "--kill-after", "1"]
        let shell = ["-c", "exec \"$0\" \"$@\" 2> /dev/null", Tool.path]
        let status = try await Tool.follow(shell + run, of: "/bin/sh") { line, send in
            if line == "started" { try send(.kill) }
        }
        #expect(status == .signaled(9))
        let next = try await Tool.run(run + ["--until-empty"])
        #expect(next.status == .exited(0), "\(next)")
        #expect(next.lines == ["second"], "\(next)")
    }

    @Test("G3: an attempt lasts until what its command has left behind has ended, and a remark says so")
    func left() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let (go, log) = (try place.makePipe("go"), place.path(of: "log"))
        let script = """
            test $SLUICE_ID = 1 &&
                setsid sh -c 'read line < "\(go)"; echo left >> "\(log)"' > /dev/null 2>&1 &
            echo "ran $SLUICE_ID" >> '\(log)'
            """
        let run = ["run", "--file", place.path, "--exec", script, "--until-empty"]
        let status = try await Tool.follow(run) { line, _ in
            if line.contains("give --leave-descendants") { try place.release(go) }
        }
        #expect(status == .exited(0))
        #expect(try place.text(of: "log") == "ran 1\nleft\nran 2\n")
    }

    @Test("A daemon may stay, if the run is told so: its queue goes on beside it")
    func daemon() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let (go, done) = (try place.makePipe("go"), try place.makePipe("done"))
        let script = """
            test $SLUICE_ID = 1 && setsid sh -c 'read line < "\(go)"; echo > "\(done)"' > /dev/null 2>&1 &
            echo "ran $SLUICE_ID"
            """
        let result = try await place.sluice("run", "--exec", script, "--leave-descendants", "--until-empty")
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines == ["ran 1", "ran 2"], "\(result)")
        // It has outlived the run and the keeper.
        try place.release(go)
        _ = try await Tool.launch("timeout", ["60", "sh", "-c", "read line < '\(done)'"])
    }
}
#endif
