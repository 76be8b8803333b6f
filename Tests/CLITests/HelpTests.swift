#if CommandLineTool
import Subprocess
import TestSupport
import Testing

/// Every verb, as the tool lists them.
let allVerbs = [
    "enqueue", "run", "drain", "queues", "show", "actions", "holds", "watch", "serve", "doctor", "retry",
    "skip", "move", "edit", "reschedule", "expire", "remove", "pause", "resume", "hold", "gate", "dead",
    "export", "import", "backup",
]

@Suite("The tool's help", .watched) struct HelpTests {
    @Test(
        "Every verb has an example and its exit statuses",
        arguments: allVerbs + [
            "gate list", "gate open", "gate close", "dead list", "dead show", "dead requeue", "dead purge",
        ]
    )
    func verbs(verb: String) async throws {
        let result = try await Tool.run(verb.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.status == .exited(0))
        let examples = result.lines.filter { $0.hasPrefix("  sluice \(verb) ") && $0.contains("--file ") }
        #expect(!examples.isEmpty)
        // None is broken to fit 80 columns.
        let pasted = result.lines.drop { !$0.hasPrefix("Example") }.dropFirst()
            .prefix { !$0.hasPrefix("Exit status") }
        #expect(pasted.allSatisfy { $0.hasPrefix("  ") }, "\(pasted)")
        #expect(result.output.contains("Example"))
        #expect(result.output.contains("\nExit status:\n  0 "))
        let tooLong = result.lines.filter { $0.count > 80 && !$0.hasPrefix("USAGE") }
        #expect(tooLong.isEmpty)
        // The first passes on what handlers write, the second writes JSON, the others have verbs in them.
        #expect(result.output.contains("--json") || ["run", "drain", "gate", "dead"].contains(verb))
    }

    @Test("Without a verb the tool lists its verbs, all of them; an unknown one ends with 64")
    func root() async throws {
        let help = try await Tool.run([])
        #expect(help.status == .exited(0))
        let listed = help.lines.drop { !$0.contains("SUBCOMMANDS") }.compactMap {
            $0.hasPrefix("  ") && !$0.hasPrefix("   ") ? $0.split(separator: " ").first.map(String.init) : nil
        }
        #expect(listed.filter { $0 != "See" && $0 != "help" } == allVerbs)
        let unknown = try await Tool.run(["fly"])
        #expect(unknown.status == .exited(64))
        #expect(unknown.errors.hasPrefix("sluice: "))
    }

    @Test("--version names the version of the tool and of SQLite")
    func version() async throws {
        let result = try await Tool.run(["--version"])
        #expect(result.status == .exited(0))
        #expect(result.output.contains(#/^\d+\.\d+\.\d+\S* \(SQLite 3\.\d+\.\d+\)\n$/#))
    }

    @Test("Completions are written for three shells, and offer the names of queues")
    func completions() async throws {
        for shell in ["bash", "zsh", "fish"] {
            let script = try await Tool.run(["--generate-completion-script", shell])
            #expect(script.status == .exited(0))
            for verb in ["show", "skip", "move", "pause", "resume"] {
                #expect(script.output.contains("---completion \(verb)"), "\(shell) \(verb)")
            }
            for word in ["purge", "--front", "--tag", "--older-than", "exhausted"] {
                #expect(script.output.contains(word.replacing("--", with: "")), "\(shell) \(word)")
            }
        }
        let place = try Workplace()
        try await place.enqueue("mail/a", "mail/b", "chat", "mail/\u{1B}")
        let words = ["sluice", "show", "--file", place.path, "mail"]
        let result = try await Tool.launch(
            "env",
            ["SAP_SHELL=bash", Tool.path, "---completion", "show", "--", "positional@0", "4", "4"] + words
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.lines.sorted() == ["mail/a", "mail/b"])
        for (verb, name, index) in [("skip", "positional@0", "4"), ("move", "--to", "6")] {
            let option = verb == "move" ? ["1", "--to"] : []
            let words = ["sluice", verb, "--file", place.path] + option + ["m"]
            let offered = try await Tool.launch(
                "env",
                ["SAP_SHELL=bash", Tool.path, "---completion", verb, "--", name, index, "1"] + words
            )
            #expect(offered.lines.sorted() == ["mail/a", "mail/b"], "\(verb) \(offered)")
        }
    }
}
#endif
