#if CommandLineTool
import Foundation
import SluiceSQLite
import Subprocess
import TestSupport
import Testing

@Suite("sluice watch, in a terminal", .needs("tmux"), .serialized, .watched) struct WatchTests {
    /// Runs a body while a watch is on a terminal; the shell around it stays and tells how it ended.
    private func watch(
        _ place: Workplace,
        columns: Int = 110,
        rows: Int = 14,
        environment: String = "",
        _ body: (TerminalSession) async throws -> Void
    ) async throws {
        let pid = place.path(of: "pid")
        let tool = "exec env \(environment) \"\(Tool.path)\" watch --file \"\(place.path)\""
        let watch = "sh -c 'echo $$ > \"\(pid)\"; \(tool)'"
        let session = try await TerminalSession(
            place,
            columns: columns,
            rows: rows,
            "\(watch); echo \"status $?\"; stty -a; exec cat"
        )
        do {
            try await session.wait(for: "sluice watch")
            try await body(session)
        } catch {
            try? await session.end()
            throw error
        }
        try await session.end()
    }

    /// Expects the shell to have its terminal back as it was.
    private func expectRestored(_ session: TerminalSession, status: Int) async throws {
        let screen = try await session.wait { $0.contains("status ") && $0.contains("extproc") }
        #expect(screen.contains("status \(status)\n"))
        #expect(
            screen.contains(" icanon") && screen.contains(" echo ") && !screen.contains("-icanon"),
            "\(screen)"
        )
        #expect(!screen.contains("sluice watch  "))
        #expect(try await session.fact("#{alternate_on} #{cursor_flag} #{wrap_flag}") == "0 1 1")
    }

    @Test("It shows lanes, states and reasons, follows what others do, and gives the terminal back")
    func lanes() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/1", "mail/2", "日本語", "x\u{1B}[2J\r\u{202E}")
        try await watch(place) { session in
            let first = try await session.wait { $0.contains("mail/2") && $0.contains("broker stopped") }
            #expect(first.contains("4 queues  4 actions"))
            #expect(first.contains(#"x\u{1b}[2J\r\u{202"#))
            #expect(first.contains("日本語"))
            #expect(try await session.fact("#{alternate_on} #{cursor_flag}") == "1 0")
            try await place.enqueue("chat")
            try await session.wait(for: "5 queues  5 actions")
            let held = try await place.sluice(
                "hold",
                "--queue",
                "mail/*",
                "--by",
                "ops",
                "--reason",
                "moving"
            )
            #expect(held.status == .exited(0))
            let screen = try await session.wait(for: "held by ops: moving")
            // What asks for somebody stands first.
            let lanes = screen.split(separator: "\n").dropFirst(3).prefix(2)
            #expect(lanes.allSatisfy { $0.contains("mail/") })
            try await session.press("q")
            try await expectRestored(session, status: 0)
        }
    }

    @Test("Keys hold, resume and try again the selected queue, filter, help and leave")
    func keys() async throws {
        let place = try Workplace()
        try await place.enqueue("b")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        try await place.enqueue("a")
        try await watch(place) { session in
            try await session.wait(for: "▶ b ")
            try await session.press("r")
            try await session.wait(for: "tried again: b")
            #expect(try await place.queues().map { $0["state"] as? String } == ["stopped", "stopped"])
            try await session.wait { !$0.contains("parked after") }
            try await session.press("End", "p")
            try await session.wait(for: "held: a")
            try await session.wait(for: "held by")
            let held = try await place.queues().filter { $0["state"] as? String == "held" }
            #expect(held.count == 1)
            try await session.press("p")
            try await session.wait(for: "resumed: a")
            #expect(try await place.sluice("holds", "--json").output == "")
            try await session.press("/", "b")
            try await session.wait { $0.contains("filter: b") && !$0.contains(" a  ") }
            try await session.press("Escape", "?")
            try await session.wait(for: "Any key returns.")
            try await session.press("x")
            try await session.wait(for: "2 queues")
            try await session.press("q")
            try await expectRestored(session, status: 0)
        }
    }

    @Test("s skips the head of the selected queue after a yes, and nothing after any other key")
    func skip() async throws {
        let place = try Workplace()
        try await place.enqueue("b", "b")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        func dead() async throws -> [Int?] {
            try await Tool.run(["dead", "list", "--json", "--file", place.path]).objects().map {
                $0["id"] as? Int
            }
        }
        try await watch(place) { session in
            try await session.wait(for: "▶ b ")
            try await session.press("s")
            try await session.wait(for: "y: skip 1 of b?")
            try await session.press("n")
            try await session.wait { $0.contains("p pause") && !$0.contains("y: skip") }
            #expect(try await dead() == [])
            try await session.press("s")
            try await session.wait(for: "y: skip 1 of b?")
            try await session.press("y")
            try await session.wait(for: "1 is skipped; `sluice dead requeue 1` puts it back")
            try await session.wait { $0.contains("1 queues  1 actions") && $0.contains("broker stopped") }
            #expect(try await dead() == [1])
            // Somebody else was faster.
            try await session.press("s")
            try await session.wait(for: "y: skip 2 of b?")
            _ = try await place.sluice("remove", "2")
            try await place.enqueue("b")
            try await session.press("y")
            try await session.wait(for: "nothing is skipped: by now it would be 3 of b")
            #expect(try await dead() == [1])
            try await session.press("q")
            try await expectRestored(session, status: 0)
        }
    }

    @Test("What a key did on a parked queue is said, and Enter shows the queue, its head and its errors")
    func details() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/1", "mail/1")
        let script = "echo no such room >&2; exit 65"
        _ = try await place.sluice("run", "--exec", script, "--until-empty")
        try await watch(place, rows: 24) { session in
            try await session.wait(for: "▶ mail/1 ")
            try await session.press("p")
            try await session.wait(for: "held: mail/1, still parked by 1: r tries it again, s skips it")
            try await session.press("Enter")
            let screen = try await session.wait { $0.contains("attempt 1") && $0.contains("and because") }
            for fact in [
                "queue        mail/1",
                "parked by action 1 after failure (failed): exited with 65: no such room",
                "and because  held by", "head         1", "kind         k", "payload      1", "Esc back",
            ] {
                #expect(screen.contains(fact), "\(fact)\n\(screen)")
            }
            #expect(screen.contains(#/attempt 1 +failed \d+ (s|min) ago after \d+ s: exited with 65/#))
            try await session.press("Escape")
            try await session.wait(for: "BECAUSE")
            try await session.press("p")
            try await session.wait(for: "resumed: mail/1, still parked by 1")
            #expect(try await place.sluice("holds", "--json").output == "")
            try await session.press("r")
            try await session.wait(for: "tried again: mail/1, broker stopped")
            try await session.press("q")
            try await expectRestored(session, status: 0)
        }
    }

    @Test("A key that the file's write lock keeps from its work says so, and who has the lock")
    func locked() async throws {
        let place = try Workplace()
        try await place.enqueue("conversation/2026/11/42")
        try await watch(place) { session in
            try await session.wait(for: "broker stopped")
            let connection = try Connection(path: place.path, mode: .write)
            try connection.beginImmediate()
            try await session.press("p")
            try await session.wait(for: "not held: conversation/2026/11/42; process \(getpid()) ")
            connection.rollback()
            try await session.press("q")
            try await expectRestored(session, status: 0)
        }
    }

    @Test("It is drawn anew when the window has another size")
    func resize() async throws {
        let place = try Workplace()
        try await place.enqueue("a", "b")
        try await watch(place, columns: 120, rows: 20) { session in
            try await session.wait(for: "OUT/S")
            try await session.resize(columns: 70, rows: 8)
            let narrow = try await session.wait { !$0.contains("OUT/S") && $0.contains("BECAUSE") }
            let lines = narrow.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            #expect(lines.count == 8)
            #expect(lines.last?.contains("select") == true)
            try await session.resize(columns: 130, rows: 16)
            try await session.wait(for: "OUT/S")
        }
    }

    @Test("Ctrl-C, SIGTERM and SIGHUP give the terminal back", arguments: [SIGINT, SIGTERM, SIGHUP])
    func signals(number: Int32) async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        try await watch(place) { session in
            if number == SIGINT {
                try await session.press("C-c")
            } else {
                let pid = try #require(Int32(try place.text(of: "pid").trimmingCharacters(in: .newlines)))
                #expect(kill(pid, number) == 0)
            }
            try await expectRestored(session, status: 0)
        }
    }

    @Test("When the file can no longer be read it gives the terminal back and says why")
    func readFails() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        try await watch(place) { session in
            try await session.wait(for: "broker stopped")
            _ = try await place.sql("DROP VIEW sluice_queue_depths")
            let screen = try await session.wait(for: "status ")
            #expect(screen.contains("sluice: "))
            #expect(!screen.contains("status 0"))
            try await session.wait(for: "extproc")
            #expect(try await session.fact("#{alternate_on} #{cursor_flag}") == "0 1")
        }
    }

    @Test(
        "Colours are on in a terminal, unless NO_COLOR is set",
        arguments: [("NO_COLOR=1", false), ("NO_COLOR=", true)]
    )
    func colour(environment: String, isExpected: Bool) async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        try await watch(place, environment: environment) { session in
            try await session.wait(for: "broker stopped")
            #expect(try await session.screen(withStyles: true).contains("\u{1B}[7m") == isExpected)
        }
    }

    @Test("Without a terminal each change is a line, until a signal")
    func plain() async throws {
        let place = try Workplace()
        try await place.enqueue("a")
        var seen: [String] = []
        let status = try await Tool.follow(["watch", "--file", place.path, "--json"]) { line, send in
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            )
            seen.append("\(object["queue"] ?? "") \(object["state"] ?? "")")
            switch seen.count {
            case 1: _ = try await place.sluice("hold", "--queue", "a")
            case 2: _ = try await place.sluice("remove", "--all")
            default: try send(.terminate)
            }
        }
        #expect(status == .exited(0))
        #expect(seen == ["a stopped", "a held", "a drained"])
    }
}
#endif
