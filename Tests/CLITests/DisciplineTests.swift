#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("The disciplines, batches and groups of sluice run", .watched) struct DisciplineTests {
    /// Runs a command that writes the number of its action, until nothing is left.
    private func run(
        _ place: Workplace,
        _ arguments: [String],
        _ script: String = "true"
    ) async throws -> [String] {
        let words = ["run", "--file", place.path, "--until-empty", "--exec", "echo $SLUICE_ID; \(script)"]
        let result = try await Tool.run(words + arguments)
        #expect(result.status == .exited(0), "\(result)")
        return result.lines
    }

    @Test("Last in, first out: of all queues, or of those of a pattern, the most specific one")
    func lastInFirstOut() async throws {
        let place = try Workplace()
        try await place.enqueue("a/1", "a/1", "b", "b", "a=2", "a=2")
        let lines = try await run(
            place,
            [
                "--discipline", "last-in-first-out", "--discipline", "b=first-in-first-out", "--discipline",
                "a=2=concurrent:1",
            ]
        )
        #expect(lines.filter { ["1", "2"].contains($0) } == ["2", "1"])
        #expect(lines.filter { ["3", "4"].contains($0) } == ["3", "4"])
        #expect(lines.filter { ["5", "6"].contains($0) } == ["5", "6"])
    }

    @Test("Concurrent: actions of one queue run at the same time")
    func concurrent() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let pipe = try place.makePipe("meet")
        // The first waits for the second, which a queue with one slot would not start.
        let script = "if test $SLUICE_ID = 1; then read line < '\(pipe)'; else echo go > '\(pipe)'; fi"
        let lines = try await run(place, ["--concurrency", "2", "--discipline", "concurrent:2"], script)
        #expect(lines.sorted() == ["1", "2"])
    }

    @Test(
        "Pass over: a failed action waits for the next pass, and so do members of the groups that it started"
    )
    func passOver() async throws {
        let place = try Workplace()
        for facts in [["--group", "a", "--group", "b"], ["--member", "b"], []] {
            let words = ["enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", "1"]
            #expect(try await Tool.run(words + facts).status == .exited(0))
        }
        let lines = try await place.sluice("export").objects()
        #expect(lines.map { $0["starts_groups"] as? [String] } == [["a", "b"], nil, nil])
        #expect(lines.map { $0["member_of"] as? [String] } == [nil, ["b"], nil])
        let script = "test $SLUICE_ID$SLUICE_ATTEMPT != 11"
        #expect(
            try await run(place, ["--discipline", "pass-over", "--retry-delay", "0"], script)
                == ["1", "3", "1", "2"]
        )
    }

    @Test("A batch starts when as many actions wait, and not before")
    func batch() async throws {
        let place = try Workplace()
        try await place.enqueue("q", "q")
        let batch = ["--batch", "3", "--batch-wait", "1h"]
        let drain = ["drain", "--file", place.path, "--exec", "echo $SLUICE_ID", "--deadline", "1m"]
        let early = try await Tool.run(drain + batch)
        #expect(early.status == .exited(10) && early.output == "", "\(early)")
        try await place.enqueue("q")
        #expect(try await run(place, batch) == ["1", "2", "3"])
    }

    @Test(
        "Wrong disciplines and batches end with 64",
        arguments: [
            ["--discipline", "lifo"], ["--discipline", "concurrent:0"], ["--discipline", "concurrent:1001"],
            ["--discipline", "concurrent"], ["--discipline", "=pass-over"], ["--discipline", "q="],
            ["--discipline", "a*=pass-over"], ["--discipline", "pass-over", "--discipline", "concurrent:2"],
            ["--discipline", "q=pass-over", "--discipline", "q=pass-over"], ["--batch", "0"],
            ["--batch-wait", "1s"], ["--batch", "3", "--batch-wait", "soon"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let place = try Workplace()
        for verb in ["run", "drain"] {
            let result = try await Tool.run([verb, "--file", place.path, "--exec", "true"] + arguments)
            #expect(result.status == .exited(64), "\(result)")
            #expect(result.errors.hasPrefix("sluice: "))
        }
    }
}
#endif
