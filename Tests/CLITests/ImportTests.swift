#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("sluice enqueue --from", .watched) struct ImportTests {
    @Test("Each line becomes a payload as it is, in the queue and at the place that its fields name")
    func manyLines() async throws {
        let place = try Workplace()
        let lines = [
            #"{"conversation": "b", "sentAt": "2020-01-01T00:00:00.000003", "text": "é 🙂"}"#,
            #"{ "sentAt":"2020-01-01T00:00:00.000002","conversation":"a" , "text":"\u00e9"}"#,
            #"{"conversation": "b", "sentAt": "2020-01-01T00:00:00.000001"}"#,
        ]
        // Both kinds of line end, an empty line, and no end behind the last.
        let from = try place.write("in.jsonl", "\(lines[0])\r\n\n\(lines[1])\n\(lines[2])")
        let result = try await place.sluice(
            "enqueue",
            "--from",
            from,
            "--kind",
            "message",
            "--queue-field",
            "conversation",
            "--queue-prefix",
            "conversation/",
            "--sort-field",
            "sentAt"
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.output == "3 enqueued, 0 refused\n")
        #expect(result.errors == "")
        let stored = try await place.sql(
            "SELECT queue, kind, sort_key, payload FROM sluice_actions ORDER BY queue, sort_key"
        )
        #expect(
            stored == """
                conversation/a|message|2020-01-01T00:00:00.000002Z|\(lines[1])
                conversation/b|message|2020-01-01T00:00:00.000001Z|\(lines[2])
                conversation/b|message|2020-01-01T00:00:00.000003Z|\(lines[0])
                """
        )
    }

    @Test("Lines that are refused are reported with number and reason, and all others are stored in order")
    func refusedLines() async throws {
        let place = try Workplace()
        let input = """
            {"q": "a", "n": 1}
            {"q": "a", "n": 2
            {"n": 3}
            {"q": "a"}
            [5]
            {"q": ["a"], "n": 6}
            {"q": "a", "n": "2020-01-01"}
            {"q": "", "n": 8}
            {"q": "a", "n": null}
            {"q": 10, "n": 10}
            {"q": "a", "n": 11}
            """
        let result = try await place.sluice(
            "enqueue",
            "--from",
            "-",
            "--kind",
            "k",
            "--queue-field",
            "q",
            "--sort-field",
            "n",
            "--sort-type",
            "integer",
            input: input
        )
        #expect(result.status == .exited(65))
        #expect(result.output == "3 enqueued, 8 refused\n")
        #expect(result.errors.split(separator: "\n").count == 8)
        for line in [
            "line 2: it is not valid JSON", "line 3: the field 'q' is missing",
            "line 4: the field 'n' is missing",
            "line 5: it is no JSON object", "line 6: the field 'q' is an array, not the name of a queue",
            "line 7: the field 'n' is text, not an integer", "line 8: a queue name is empty",
            "line 9: the field 'n' is null, not an integer",
        ] {
            #expect(result.errors.contains("sluice: \(line)"), "\(line)")
        }
        #expect(
            try await place.sql("SELECT queue, sort_key FROM sluice_actions ORDER BY id")
                == "a|1\n10|10\na|11"
        )
    }

    @Test(
        "Of a batch that the file refuses, only the line at fault is left out",
        arguments: ["1", "2", "1000"]
    )
    func isolatesLines(batchSize: String) async throws {
        let place = try Workplace()
        let keys = (1...40).map { $0 == 7 || $0 == 29 ? "\"x\($0)\"" : "\($0)" }
        let from = try place.write("in.jsonl", keys.map { "{\"n\": \($0)}\n" }.joined())
        let result = try await place.sluice(
            "enqueue",
            "--from",
            from,
            "--kind",
            "k",
            "--queue",
            "q",
            "--sort-field",
            "n",
            "--batch-size",
            batchSize
        )
        #expect(result.status == .exited(65))
        #expect(result.output == "38 enqueued, 2 refused\n")
        let reason =
            "the queue 'q' is ordered by integer; the action's key is text: "
            + "give it one of integer, or wait until the queue is empty"
        let remarks = ["sluice: line 7: \(reason)", "sluice: line 29: \(reason)"]
        #expect(result.errors.split(separator: "\n").map(String.init) == remarks)
        let stored = try await place.sql("SELECT group_concat(sort_key, ',') FROM sluice_actions")
        let expected = (1...40).filter { $0 != 7 && $0 != 29 }.map { "\($0)" }.joined(separator: ",")
        #expect(stored == expected)
    }

    @Test(
        "Bytes that are no UTF-8 and lines that are too long are refused, and memory does not hold them",
        .needs("python3")
    )
    func oddLines() async throws {
        let place = try Workplace()
        let from = place.path(of: "in.jsonl")
        // 40 MB in one line, more than a payload may have.
        let script = try place.write(
            "make.py",
            """
            import sys
            write = sys.stdout.buffer.write
            write(b'1\\n"\\xff"\\n')
            for _ in range(40): write(b'x' * 1000000)
            write(b'\\n4\\n')

            """
        )
        let command = """
            python3 '\(script)' > '\(from)';
            '\(Tool.path)' enqueue --file '\(place.path)' --from '\(from)' --queue q --kind k
            """
        let result = try await Tool.launch("/bin/sh", ["-c", command])
        #expect(result.status == .exited(65), "\(result)")
        #expect(result.errors.contains("line 2: it is not UTF-8"))
        #expect(result.errors.contains("line 3: it has more than 16777216 bytes"))
        #expect(try await place.sql("SELECT payload FROM sluice_actions ORDER BY id") == "1\n4")
    }

    @Test("An input that is not there ends with 66, and no file of queues is made")
    func noInput() async throws {
        let place = try Workplace()
        for input in [place.path(of: "missing"), place.directory] {
            let result = try await place.sluice("enqueue", "--from", input, "--queue", "q", "--kind", "k")
            #expect(result.status == .exited(66), "\(result)")
            #expect(result.errors.contains("cannot be read"))
        }
        #expect(try await place.sluice("queues").lines.count <= 1)
    }

    @Test("On a terminal a bar shows how far it is, elsewhere nothing does", .needs("python3"))
    func progress() async throws {
        let place = try Workplace()
        let from = try place.write("in.jsonl", String(repeating: "1\n", count: 5_000))
        let script = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
        let arguments = ["enqueue", "--file", place.path, "--from", from, "--queue", "q", "--kind", "k"]
        let shown = try await Tool.launch("python3", ["-c", script, Tool.path] + arguments)
        #expect(shown.status == .exited(0))
        #expect(shown.output.contains("%  1000 enqueued, 0 refused"), "\(shown)")
        #expect(shown.output.contains("5000 enqueued, 0 refused"))
        let silent = try await Tool.run(arguments)
        #expect(silent.errors == "")
        #expect(silent.output == "5000 enqueued, 0 refused\n")
    }
}
#endif
