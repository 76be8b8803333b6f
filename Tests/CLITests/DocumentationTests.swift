#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("The tool's page in the documentation", .watched) struct ToolDocumentationTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources/Sluice/Sluice.docc/Tool.md")

    @Test("Every command on it does what the page has it do, in the order of the page")
    func commands() async throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let blocks = text.components(separatedBy: "```sh\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(blocks.count >= 6)
        // What `make setup-tests` installs.
        let hasJQ = try await Tool.launch("/bin/sh", ["-c", "command -v jq"]).status == .exited(0)
        if !hasJQ { print("passed over, since jq is missing: the list of commands on the tool's page") }
        let runnable = blocks.filter { hasJQ || !$0.contains("jq ") }
        let place = try Workplace()
        let tools = (Tool.path as NSString).deletingLastPathComponent
        let script = try place.write(
            "page.sh",
            "set -eu\ncd '\(place.directory)'\nPATH='\(tools)':$PATH\n" + runnable.joined()
        )
        let result = try await Tool.launch("/bin/sh", ["-x", script])
        #expect(result.status == .exited(0), "\(result)")
        let imported = try await Tool.run(["actions", "--file", place.path(of: "third.sqlite"), "--json"])
        #expect(try imported.objects().map { $0["queue"] as? String } == ["mail/ada"])
    }

    @Test("It has every verb")
    func verbs() async throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        for verb in allVerbs { #expect(text.contains("sluice \(verb) "), "\(verb)") }
    }
}
#endif
