#if CommandLineTool
import Subprocess
import TestSupport
import Testing

@Suite("Hints on wrong arguments", .watched) struct HintTests {
    @Test(
        "A verb that takes queues by an option says so when it gets one as its argument",
        arguments: [
            "run --exec true", "drain --exec true", "queues", "actions",
            "export", "watch", "dead list", "dead requeue", "dead purge",
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
