#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Names and payloads that want more than to be shown", .serialized, .watched) struct HostileTests {
    /// Erases the screen, goes back to the line's start, turns the direction of writing, ends the line.
    private static let name = "x\u{1B}[2J\r\u{202E}y\u{9B}1A\nforged"

    /// Whether a text holds what a terminal would obey.
    private func isHostile(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            (scalar.properties.generalCategory == .control && scalar != "\n") || scalar == "\u{202E}"
        }
    }

    private func workplace() async throws -> Workplace {
        let place = try Workplace()
        let payload = "{\"a\u{202E}\u{9B}\":\"\u{7F}\"}"
        for _ in 1...2 {
            let result = try await place.sluice(
                "enqueue",
                "--queue",
                Self.name,
                "--kind",
                "k\u{1B}[31m",
                "--payload",
                payload
            )
            try #require(result.status == .exited(0))
        }
        _ = try await place.sluice(
            "hold",
            "--queue",
            Self.name,
            "--by",
            "\u{1B}c",
            "--reason",
            "\r\nall is well"
        )
        _ = try await Tool.run(["gate", "open", "--file", place.path, Self.name])
        return place
    }

    @Test(
        "No verb hands them to the terminal, neither in tables nor in JSON, and each stays on its line",
        arguments: [
            ["queues"], ["actions"], ["holds"], ["gate", "list"], ["show", name], ["retry", "--queue", name],
            ["dead", "list"], ["dead", "show", "102"], ["doctor"], ["hold", "--queue", name],
            ["pause", name], ["resume", name],
            ["skip", name], ["move", "1", "--to", name], ["move", "9", "--front"], ["remove", "2"],
            ["dead", "purge", "102"],
        ]
    )
    func verbs(arguments: [String]) async throws {
        let place = try await workplace()
        _ = try await place.sql(
            """
            INSERT INTO sluice_dead_rows (id, queue_id, sort_key, sort_type, enqueued_at_us, nonce, kind,
                attempts, died_at_us, cause, error, payload, version)
            SELECT id + 100, queue_id, 0, 'arrival', 0, 0, kind, 1, 0, 'failed',
                char(27) || '[2J' || char(13), payload, 1
            FROM sluice_action_rows WHERE id = 2
            """
        )
        for flags in [[], ["--json"], ["--color", "never"]] {
            let result = try await Tool.run(arguments + ["--file", place.path] + flags)
            #expect(!isHostile(result.output), "\(result.output.debugDescription)")
            #expect(!isHostile(result.errors), "\(result.errors.debugDescription)")
            let forged = result.output.split(separator: "\n").filter {
                $0.hasPrefix("forged") || $0.hasPrefix("all is")
            }
            #expect(forged.isEmpty)
            if flags == ["--json"] { #expect(try !result.objects().isEmpty) }
        }
    }

    @Test("The name of a copy is shown escaped too, in the answer and in the refusal")
    func copy() async throws {
        let place = try await workplace()
        let name = place.path(of: "c\u{1B}[2J\r\u{202E}")
        for flags in [[], ["--json"]] {
            let result = try await Tool.run(["backup", "--file", place.path, name] + flags)
            #expect(result.status == .exited(flags.isEmpty ? 0 : 73), "\(result)")
            #expect(!isHostile(result.output) && !isHostile(result.errors))
            if flags.isEmpty { continue }
            #expect(result.errors.contains(#"\u{1b}[2J\r\u{202e}"#))
        }
    }

    @Test("Errors show them escaped too")
    func errors() async throws {
        let place = try await workplace()
        let result = try await place.sluice(
            "enqueue",
            "--queue",
            Self.name,
            "--kind",
            "k",
            "--payload",
            "1",
            "--sort-key",
            "5"
        )
        #expect(result.status == .exited(65))
        #expect(result.errors.contains(#"\u{1b}[2J\r\u{202e}y"#))
        #expect(!isHostile(result.errors))
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test("With --json a name comes back as it was")
    func roundTrip() async throws {
        let place = try await workplace()
        #expect(try await place.queues().first?["queue"] as? String == Self.name)
        let payload = try #require(try await place.actions().first?["payload"] as? [String: String])
        #expect(payload == ["a\u{202E}\u{9B}": "\u{7F}"])
    }

    @Test("Colours are used when they are asked for, and by default not without a terminal")
    func colours() async throws {
        let place = try await workplace()
        #expect(try await place.sluice("queues").output.contains("\u{1B}") == false)
        let always = try await place.sluice("queues", "--color", "always")
        #expect(always.output.contains("\u{1B}[1mQUEUE\u{1B}[0m"))
        #expect(always.output.contains(#"x\u{1b}[2J"#))
    }
}
#endif
