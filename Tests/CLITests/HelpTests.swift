import Subprocess
import Testing

@Suite("The tool's help") struct HelpTests {
    @Test(
        "Every verb has an example and its exit statuses",
        arguments: ["enqueue", "run", "queues", "actions"]
    )
    func verbs(verb: String) async throws {
        let result = try await Tool.run([verb, "--help"])
        #expect(result.status == .exited(0))
        #expect(result.output.contains("\n  sluice \(verb) --file "))
        #expect(result.output.contains("Example"))
        #expect(result.output.contains("\nExit status:\n  0 "))
        let tooLong = result.lines.filter { $0.count > 80 && !$0.hasPrefix("USAGE") }
        #expect(tooLong.isEmpty)
    }

    @Test("Without a verb the tool lists its verbs; an unknown one ends with 64")
    func root() async throws {
        let help = try await Tool.run([])
        #expect(help.status == .exited(0))
        for verb in ["enqueue", "run", "queues", "actions"] { #expect(help.output.contains("\n  \(verb) ")) }
        let unknown = try await Tool.run(["fly"])
        #expect(unknown.status == .exited(64))
        #expect(unknown.errors.hasPrefix("sluice: "))
    }
}
