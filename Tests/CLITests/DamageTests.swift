#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("A damaged file", .watched) struct DamageTests {
    @Test(
        "What doctor and Errors.md recommend gets the rows that are whole into a new file, which runs",
        .needs("python3")
    )
    func recipe() async throws {
        let place = try Workplace()
        let lines = (1...2_000).map {
            "{\"q\": \"q\($0 % 7)\", \"text\": \"marker-\($0)-\(String(repeating: "x", count: 60))\"}"
        }
        let enqueued = try await place.sluice(
            "enqueue",
            "--kind",
            "k",
            "--from",
            "-",
            "--queue-field",
            "q",
            input: lines.joined(separator: "\n")
        )
        try #require(enqueued.status == .exited(0), "\(enqueued)")
        // The head of one page of payloads.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: place.path))
        let marker = try #require(bytes.range(of: Data("marker-1000-".utf8)))
        let page = marker.lowerBound / 4_096 * 4_096
        bytes.replaceSubrange(page..<page + 8, with: Data(repeating: 0xFF, count: 8))
        try bytes.write(to: URL(fileURLWithPath: place.path))

        let doctor = try await place.sluice("doctor")
        #expect(doctor.status == .exited(1))
        #expect(!doctor.output.contains("there are no queues"))
        let advice = try #require(doctor.lines.first { $0.contains("sqlite3 COPY") })
        let recipe = String(advice.split(separator: "`")[1])
        let page2 = try String(contentsOf: Self.errorsPage, encoding: .utf8)
        #expect(page2.contains("\n\(recipe)\n"))
        let new = place.path(of: "new.sqlite")
        let command = recipe.replacing("COPY", with: "'\(place.path)'").replacing("NEW", with: "'\(new)'")
        let recovered = try await Tool.launch("sh", ["-c", command])
        #expect(recovered.status == .exited(0), "\(recovered)")

        let after = try await Tool.run(["doctor", "--file", new, "--full"])
        #expect(after.status == .exited(0), "\(after)")
        let run = try await Tool.run(["run", "--file", new, "--pipe", Self.handler, "--until-empty"])
        #expect(run.status == .exited(0), "\(run)")
        let count = run.errors.split(separator: "\n").count { $0 == "+" }
        #expect(count > 1_900 && count < 2_000)
    }

    private static let errorsPage = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Sources/Sluice/Sluice.docc/Errors.md")

    /// Writes a sign for each request.
    private static let handler = """
        exec python3 -c 'import json, sys
        for line in sys.stdin:
            r = json.loads(line)
            sys.stderr.write("+\\n")
            print(json.dumps({"id": r["id"], "outcome": "success"}), flush=True)'
        """
}
#endif
