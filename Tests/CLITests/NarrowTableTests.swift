#if CommandLineTool
import Subprocess
import TestSupport
import Testing

@Suite("Tables on a terminal of 80 columns", .needs("tmux"), .watched) struct NarrowTableTests {
    /// What a verb shows on such a terminal.
    private func screen(_ place: Workplace, _ verb: String) async throws -> String {
        let command = "\"\(Tool.path)\" \(verb) --file \"\(place.path)\"; echo \"end $?\"; exec cat"
        let session = try await TerminalSession(place, columns: 80, rows: 24, command)
        do {
            let screen = try await session.wait(for: "end ")
            #expect(screen.contains("end 0"), "\(screen)")
            try await session.end()
            return screen
        } catch {
            try? await session.end()
            throw error
        }
    }

    private func expectSeconds(_ screen: String) {
        #expect(screen.contains(#/T\d\d:\d\d:\d\dZ/#), "\(screen)")
        #expect(!screen.contains(#/\d\.\d{6}Z/#), "\(screen)")
    }

    @Test("holds shows the whole reason, and times to the second; elsewhere they are exact")
    func holds() async throws {
        let place = try Workplace()
        let reason = "the server moves to another building"
        let queue = "conversation/2026/11/*"
        try await place.enqueue("conversation/2026/11/42")
        _ = try await place.sluice("pause", queue, "--by", "operator", "--for", "2h", "--reason", reason)
        let screen = try await screen(place, "holds")
        #expect(screen.contains(reason), "\(screen)")
        expectSeconds(screen)
        #expect(try await place.sluice("holds").output.contains(#/T\d\d:\d\d:\d\d\.\d{6}Z/#))
    }

    @Test("actions shows its payload, and times to the second")
    func actions() async throws {
        let place = try Workplace()
        let words = ["enqueue", "--file", place.path, "--queue", "conversation/2026/11/42", "--kind", "k"]
        let payload = #"{"text":"Are you there?"}"#
        _ = try await Tool.run(words + ["--payload", payload, "--not-before", "2h"])
        let screen = try await screen(place, "actions")
        #expect(screen.contains(payload), "\(screen)")
        expectSeconds(screen)
    }

    @Test("dead list shows the error, and times to the second")
    func dead() async throws {
        let place = try Workplace()
        try await place.enqueue("conversation/2026/11/42")
        let script = "echo no such room >&2; exit 65"
        _ = try await place.sluice("run", "--exec", script, "--on-failure", "skip", "--until-empty")
        let screen = try await screen(place, "dead list")
        #expect(screen.contains("exited with 65: no such room"), "\(screen)")
        expectSeconds(screen)
    }

    @Test("hold answers with a sentence, and into a pipe with the number alone")
    func hold() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        let screen = try await screen(place, "hold mail/a")
        #expect(screen.contains("mail/a is paused by hold 1"), "\(screen)")
        #expect(try await place.sluice("hold", "mail/a").output == "2\n")
    }

    @Test("queues shows when the next attempt is and why, beside a name of usual length")
    func retry() async throws {
        let place = try Workplace()
        try await place.enqueue("conversation/42", "conversation/2026/11/4711")
        let script = "echo no answer from the server >&2; exit 3"
        let times = ["--retry-delay", "1h", "--retry-limit", "1h", "--deadline", "30s"]
        let drain = try await Tool.run(["drain", "--file", place.path, "--exec", script] + times)
        try #require(drain.status == .exited(10), "\(drain)")
        let screen = try await screen(place, "queues")
        #expect(
            screen.contains(#/conversation/42 .*  retry in [0-9]+ (s|min|h); exited with 3/#),
            "\(screen)"
        )
    }

    @Test("queues has room for its reason beside a long name and a long kind")
    func queues() async throws {
        let place = try Workplace()
        let words = ["enqueue", "--file", place.path, "--queue", "conversation/2026/11/42", "--kind"]
        _ = try await Tool.run(words + ["send-message", "--payload", "1"])
        _ = try await place.sluice("run", "--exec", "echo no such room >&2; exit 65", "--until-empty")
        let screen = try await screen(place, "queues")
        #expect(screen.contains("parked by 1: exited with 65: no"), "\(screen)")
        #expect(screen.contains("/42"), "\(screen)")
    }
}
#endif
