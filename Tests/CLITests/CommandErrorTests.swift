#if CommandLineTool
import Foundation
import Sluice
import Subprocess
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("The errors of commands", .watched) struct CommandErrorTests {
    /// Runs a command that fails for good, and tells the error that is kept.
    private func error(of script: String) async throws -> (text: String, result: Tool.Result) {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await place.sluice("run", "--exec", script, "--until-empty", "--max-attempts", "1")
        let error = try await place.queues().first?["last_error"] as? String
        return (try #require(error, "\(result)"), result)
    }

    @Test("What a failing command writes to standard error is its error, and is passed on as it is")
    func kept() async throws {
        let script = "echo connecting >&2; echo >&2; printf 'connection refused' >&2; exit"
        for status in [3, 65, 75] {
            let (text, result) = try await error(of: "\(script) \(status)")
            #expect(text == #"exited with \#(status): connecting\nconnection refused"#)
            // A remark has a line of its own.
            #expect(result.errors.contains("connecting\n\nconnection refused\nsluice: "), "\(result)")
        }
        let killed = try await error(of: "echo slow >&2; kill -KILL $$")
        #expect(killed.text == "ended by signal 9: slow")
        #expect(try await error(of: "exit 3").text == "exited with 3")
    }

    @Test("It is kept too when the command asks for a delay, which it gets")
    func delay() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let script = "echo 'retry-after: 3600.5'; echo busy >&2; exit 75"
        let status = try await Tool.follow(["run", "--file", place.path, "--exec", script]) { line, send in
            if line == "busy" { try send(.terminate) }
        }
        #expect(status == .exited(0))
        let kept = try await place.sql("SELECT retry_delay_us, last_error FROM sluice_state_rows")
        #expect(kept == "3600500000|exited with 75: busy")
    }

    @Test("What a terminal would obey, and what is not UTF-8, is escaped in it")
    func printable() async throws {
        let (text, _) = try await error(of: #"printf 'a\033[31m\tb\377\r\nc\000d\n' >&2; exit 3"#)
        #expect(text == #"exited with 3: a\u{1b}[31m\tb"# + "\u{FFFD}" + #"\nc\u{0}d"#)
    }

    @Test("Of much it keeps the last lines, whole, and all of it is passed on in order")
    func bounded() async throws {
        let (text, result) = try await error(
            of: "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done >&2; exit 3"
        )
        #expect(text.utf8.count <= SluiceError.maximumTextByteCount && text.utf8.count > 1_900)
        let numbers = text.dropFirst("exited with 3: ".count).components(separatedBy: #"\n"#).compactMap {
            Int($0)
        }
        #expect(numbers.last == 3_000)
        #expect(numbers == Array((numbers.first ?? 0)...3_000))
        let all = (1...3_000).map { "\($0)\n" }.joined()
        #expect(result.errors.hasPrefix(all))
    }

    @Test("Of a line that is too long it keeps the end")
    func longLine() async throws {
        let (text, result) = try await error(
            of: "head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3"
        )
        let filling = String(repeating: "x", count: SluiceError.maximumTextByteCount - 21)
        #expect(text == "exited with 3: …\(filling)end")
        #expect(result.errors.hasPrefix(String(repeating: "x", count: 100_000) + "end\n"))
    }

    @Test("A line that has lost its beginning is left out while there are others")
    func cut() {
        var tail = ErrorTail()
        Array("earlier\nlines\n".utf8).withUnsafeBytes { tail.take($0) }
        let lines = "password" + String(repeating: "\n", count: 3_990) + "last\n"
        Array(lines.utf8).withUnsafeBytes { tail.take($0) }
        #expect(tail.text(after: "head") == "head: last")
        #expect(ErrorTail().text(after: "head") == "head")
    }

    @Test("G9: a command whose errors nobody reads holds up no other, and a stop ends it in time")
    func unread() async throws {
        let place = try Workplace()
        try await place.enqueue("big", "small")
        let (stalled, done) = (try place.makePipe("stalled"), try place.makePipe("done"))
        let script = """
            test "$SLUICE_QUEUE" = small && { echo > '\(done)'; exit 0; }
            while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2; done
            """
        let words = "run --queue big --queue small --concurrency 2 --grace 1 --kill-after 1"
        let line = """
            "$0" \(words) --file "$1" --exec "$2" 2> '\(stalled)' & echo $!; wait $!; echo ended $?
            """
        var lines: [String] = []
        _ = try await Tool.follow(["-c", line, Tool.path, place.path, script], of: "/bin/sh") { text, _ in
            lines.append(text)
            guard let process = pid_t(text) else { return }
            _ = try await Tool.launch("sh", ["-c", "read line < '\(done)'"])
            while try !place.isFull(stalled) { _ = try await Tool.launch("true", []) }
            #expect(kill(process, SIGTERM) == 0)
        }
        #expect(lines.last == "ended 0", "\(lines)")
        let action = try #require(try await place.actions().first)
        #expect(action["queue"] as? String == "big" && action["attempts"] as? Int == 0)
    }

    @Test("What a command leaves running with its standard error open is not waited for if it may stay")
    func left() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let pipe = try place.makePipe("never")
        let script = "(read line < '\(pipe)') > /dev/null & echo ran >&2; exit 65"
        let result = try await place.sluice("run", "--exec", script, "--leave-descendants", "--until-empty")
        #expect(result.status == .exited(1), "\(result)")
        #expect(result.errors.contains("still has its standard output or error open"))
        #expect(try await place.queues().first?["last_error"] as? String == "exited with 65: ran")
        try place.release(pipe)
    }
}
#endif
