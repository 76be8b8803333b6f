#if CommandLineTool
import Subprocess
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("Hints on wrong arguments", .watched) struct HintTests {
    @Test(
        "A verb that takes queues by an option says so when it gets one as its argument",
        arguments: [
            "run --exec true", "drain --exec true", "export", "dead requeue", "dead purge",
        ]
    )
    func byOption(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        let result = try await Tool.run(verb.words + ["--file", place.path, "mail/a"])
        #expect(result.status == .exited(64), "\(result)")
        #expect(result.errors.hasSuffix("sluice: queues are given with --queue here\n"), "\(result)")
    }

    @Test("A verb that takes a queue as its argument says so", arguments: ["show", "skip", "pause"])
    func byArgument(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        for option in [["--queue", "mail/a"], ["--queue=mail/a"]] {
            let result = try await Tool.run([verb, "--file", place.path] + option)
            #expect(result.status == .exited(64), "\(result)")
            let hint = "the queue is given as the argument here: `sluice \(verb) 'mail/a'`"
            #expect(result.errors.hasSuffix("sluice: \(hint)\n"), "\(result)")
        }
    }

    @Test(
        "A verb that takes one queue says so when it gets two",
        arguments: ["hold", "pause", "retry", "show", "skip", "remove", "queues", "actions", "dead list"]
    )
    func two(verb: String) async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        let result = try await Tool.run(verb.words + ["--file", place.path, "mail/a", "mail/b"])
        #expect(result.status == .exited(64), "\(result)")
        let hint = "it takes one queue, or a prefix that ends in /*"
        #expect(result.errors.hasSuffix("sluice: \(hint)\n"), "\(result)")
    }

    @Test("A verb of a verb that is not there is answered with the one that is meant")
    func innerVerbs() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        let file = ["--file", place.path]
        for (words, meant) in [
            (["dead", "remove", "1"], "'dead purge'"), (["dead", "requeu", "1"], "'dead requeue'"),
            (["gate", "shut", "x"], "'gate close'"), (["gate"] + file + ["shut", "x"], "'gate close'"),
        ] {
            let result = try await Tool.run(words.contains("--file") ? words : words + file)
            #expect(result.status == .exited(64), "\(result)")
            #expect(result.errors.contains("; did you mean \(meant)? `sluice"), "\(result)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
        }
        let none = try await Tool.run(["dead", "mail/a"] + file)
        #expect(none.errors == "sluice: there is no verb 'dead mail/a'; `sluice dead --help` lists all\n")
        let late = try await Tool.run(["dead"] + file + ["list"])
        #expect(late.status == .exited(64), "\(late)")
        #expect(late.errors == "sluice: 'list' is given right after 'dead': `sluice dead list --help`\n")
        for words in [["dead"], ["gate"], ["gate", "list"], ["dead", "--json"]] {
            let result = try await Tool.run(words + file)
            #expect(result.status == .exited(0), "\(words) \(result)")
        }
    }

    @Test("A verb that takes numbers alone says which verb lists them")
    func byNumber() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        for (verb, list) in [
            (["dead", "show"], "`sluice dead list --queue 'mail/a'` lists them"),
            (["edit"], "`sluice actions --queue 'mail/a'` lists them"),
            (["move", "--front"], "`sluice actions --queue 'mail/a'` lists them"),
        ] {
            let result = try await Tool.run(verb + ["--file", place.path, "mail/a"])
            #expect(result.status == .exited(64), "\(result)")
            #expect(result.errors.hasSuffix("sluice: it takes numbers; \(list)\n"), "\(result)")
        }
    }

    @Test("On a terminal the commands in an answer name the file or the server, if it has no password")
    func complete() {
        let text = "the queue 'a' stays parked; `sluice retry 'a'` tries the action again"
        for (arguments, option) in [
            (["edit", "--file", "q.sqlite", "1"], "--file q.sqlite"),
            (["edit", "--file=my q.sqlite", "1"], "--file 'my q.sqlite'"),
            (["edit", "1", "-f", "it's"], #"--file 'it'\''s'"#),
            (
                ["--postgres", "postgres://u@h/db?a=b", "--schema", "s"],
                "--postgres 'postgres://u@h/db?a=b' --schema s"
            ),
        ] {
            let store = Hints.store(in: arguments)
            #expect(store == option)
            let whole = text.replacing("'a'`", with: "'a' \(option)`")
            #expect(Hints.complete(text, with: store) == whole)
            #expect(Hints.complete(whole, with: store) == whole)
        }
        #expect(Hints.store(in: ["edit", "1", "--postgres", "postgres://u:pw@h/db"]) == nil)
        #expect(Hints.complete("see `sluice run --help`", with: "--file q") == "see `sluice run --help`")
        #expect(Hints.complete("`sluice --help` lists all", with: "--file q") == "`sluice --help` lists all")
    }

    @Test("A verb that takes no queue gives no such hint")
    func none() async throws {
        let place = try Workplace()
        try await place.enqueue("mail/a")
        for verb in ["doctor", "gate"] {
            let result = try await Tool.run([verb, "--file", place.path, "mail/a"])
            #expect(result.status == .exited(64) && !result.errors.contains("given"), "\(result)")
        }
    }
}

extension String {
    fileprivate var words: [String] { split(separator: " ").map(String.init) }
}
#endif
