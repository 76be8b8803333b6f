#if CommandLineTool
import Foundation
import SluiceSQLite
import Subprocess
import TestSupport
import Testing

@Suite("sluice enqueue, one action", .watched) struct EnqueueTests {
    @Test("The number of the action is written, and the payload stored as it was given")
    func payloadFromFlag() async throws {
        let place = try Workplace()
        let payload = #"{"b" : 1,   "a": "é\u0000\n"}"#
        let result = try await place.sluice(
            "enqueue",
            "--queue",
            "hello",
            "--kind",
            "greet",
            "--payload",
            payload
        )
        #expect(result.status == .exited(0))
        #expect(result.output == "1\n")
        #expect(
            try await place.sql("SELECT queue, kind, payload FROM sluice_actions") == "hello|greet|\(payload)"
        )
    }

    @Test("Without --payload standard input is the payload, but for the line break at its end")
    func payloadFromInput() async throws {
        let place = try Workplace()
        let result = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", input: "[1,\n2]\n")
        #expect(result.output == "1\n")
        #expect(try await place.sql("SELECT hex(payload) FROM sluice_actions") == "5B312C0A325D")
    }

    @Test("A payload that is not JSON or not UTF-8 is refused with 65, and nothing is stored")
    func refusesPayload() async throws {
        let place = try Workplace()
        for payload in ["{", "", "1 2", "nul"] {
            let result = try await place.sluice(
                "enqueue",
                "--queue",
                "q",
                "--kind",
                "k",
                "--payload",
                payload
            )
            #expect(result.status == .exited(65))
            #expect(result.errors.hasPrefix("sluice: "))
            #expect(result.output == "")
        }
        let invalid = try place.write("invalid", "")
        try Data([0x22, 0xFF, 0x22]).write(to: URL(fileURLWithPath: invalid))
        let command = #"'\#(Tool.path)' enqueue --file '\#(place.path)' --queue q --kind k < '\#(invalid)'"#
        let result = try await Tool.launch("/bin/sh", ["-c", command])
        #expect(result.status == .exited(65))
        #expect(result.errors == "sluice: the payload is not UTF-8\n")
        #expect(try await place.actions().isEmpty)
    }

    @Test(
        "A sort key has the type that is asked for, or the one it looks like",
        arguments: [
            ("5", "auto", "integer", "5"), ("-2.5", "auto", "real", "-2.5"), ("b", "auto", "text", "b"),
            ("2017-05-11T15:46:08.512661", "auto", "date", "2017-05-11T15:46:08.512661Z"),
            ("5", "real", "real", "5.0"), ("5", "text", "text", "5"),
            ("2017-05-11T17:46:08.5126619+02:00", "date", "date", "2017-05-11T15:46:08.512661Z"),
            ("1969-12-31 23:59", "date", "date", "1969-12-31T23:59:00.000000Z"),
            ("2016-02-29", "date", "date", "2016-02-29T00:00:00.000000Z"),
        ]
    )
    func sortKeys(_ word: String, _ type: String, _ stored: String, _ shown: String) async throws {
        let place = try Workplace()
        let result = try await place.sluice(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--payload",
            "1",
            "--sort-key",
            word,
            "--sort-type",
            type
        )
        #expect(result.status == .exited(0), "\(result)")
        #expect(try await place.sql("SELECT sort_type FROM sluice_queue_rows") == stored)
        #expect(try await place.actions().first?["sort_key"] as? String == shown)
    }

    @Test(
        "A sort key that is not of its type is refused with 65",
        arguments: [
            ("x", "integer"), ("1.5", "integer"), ("x", "real"), ("nan", "real"), ("2017-02-29", "date"),
            ("2017-05-11T24:00", "date"), ("2017-05-11T15:46:08.Z", "date"), ("yesterday", "date"),
        ]
    )
    func refusesSortKeys(_ word: String, _ type: String) async throws {
        let place = try Workplace()
        let result = try await place.sluice(
            "enqueue",
            "--queue",
            "q",
            "--kind",
            "k",
            "--payload",
            "1",
            "--sort-key",
            word,
            "--sort-type",
            type
        )
        #expect(result.status == .exited(65), "\(result)")
        #expect(result.errors.hasPrefix("sluice: "))
        #expect(try await place.actions().isEmpty)
    }

    @Test("Wrong arguments end with 64 and say what is wrong, and no file is made")
    func usage() async throws {
        let place = try Workplace()
        for arguments in [
            [], ["--kind", "k"], ["--queue", "q"], ["--queue", "q", "--kind", "k", "--sort-type", "colour"],
            ["--kind", "k", "--from", "x"],
            ["--kind", "k", "--from", "x", "--queue", "q", "--queue-field", "f"],
            ["--kind", "k", "--from", "x", "--queue", "q", "--payload", "1"],
            ["--kind", "k", "--queue", "q", "--sort-field", "f"],
            ["--kind", "k", "--from", "x", "--queue", "q", "--batch-size", "0"],
            ["--kind", "k", "--from", "x", "--queue", "q", "--key", "a"],
            ["--kind", "k", "--queue", "q", "--payload", "1", "--key-policy", "refuse"],
            ["--kind", "k", "--queue", "q", "--payload", "1", "--key", "a", "--keep-key", "soon"],
            ["--kind", "k", "--queue", "q", "--payload", "1", "--key", "a", "--key-policy", "first"],
        ] {
            let result = try await Tool.run(["enqueue", "--file", place.path] + arguments)
            #expect(result.status == .exited(64), "\(arguments) \(result)")
            #expect(result.errors.hasPrefix("sluice: "), "\(arguments)")
        }
        #expect(!FileManager.default.fileExists(atPath: place.path))
    }

    @Test("A queue's name and a kind outside their limits are refused with 64")
    func limits() async throws {
        let place = try Workplace()
        let long = String(repeating: "x", count: 513)
        for (queue, kind) in [("", "k"), (long, "k"), ("q", ""), ("q", long)] {
            let result = try await place.sluice(
                "enqueue",
                "--queue",
                queue,
                "--kind",
                kind,
                "--payload",
                "1"
            )
            #expect(result.status == .exited(64), "\(result)")
        }
        #expect(try await place.actions().isEmpty)
    }

    @Test(
        "With a key an action is stored once, while the first waits or runs, and as long as the key is kept"
    )
    func key() async throws {
        let place = try Workplace()
        func enqueue(_ payload: String, _ more: String...) async throws -> Tool.Result {
            let words = [
                "enqueue", "--file", place.path, "--queue", "q", "--kind", "k", "--payload", payload,
            ]
            return try await Tool.run(words + ["--key", "sync"] + more)
        }
        #expect(try await enqueue("1").output == "1\n")
        #expect(try await enqueue("2").output == "1\n")
        #expect(try await place.actions().map { $0["payload"] as? Int } == [1])
        #expect(try await enqueue("3", "--key-policy", "replace").output == "1\n")
        #expect(try await place.actions().map { $0["payload"] as? Int } == [3])
        let refused = try await enqueue("4", "--key-policy", "refuse")
        #expect(refused.status == .exited(65) && refused.output == "", "\(refused)")
        func runAll() async throws {
            #expect(try await place.sluice("run", "--exec", "true", "--until-empty").status == .exited(0))
        }
        try await runAll()
        // The key is free, and the next action keeps it.
        let next = try await enqueue("5", "--keep-key", "1h")
        #expect(next.output != "1\n" && next.status == .exited(0), "\(next)")
        try await runAll()
        #expect(try await enqueue("6").output == next.output)
        #expect(try await place.actions().isEmpty)
    }

    @Test("A tag, a gate, times and a version are given to one action and to each line")
    func facts() async throws {
        let place = try Workplace()
        let given = [
            "--kind", "k", "--queue", "q", "--tag", "album", "--gate", "wifi", "--not-before",
            "2040-01-02T03:04:05Z", "--expires-at", "2041-01-02T03:04:05.000007Z", "--payload-version", "3",
        ]
        func enqueue(_ more: [String], input: String) async throws -> Tool.Result {
            try await Tool.run(["enqueue", "--file", place.path] + given + more, input: input)
        }
        let one = try await enqueue([], input: "1")
        let many = try await enqueue(["--from", "-"], input: "2\n")
        #expect(one.status == .exited(0) && many.status == .exited(0), "\(one) \(many)")
        let rows = try Connection(path: place.path, mode: .read).prepare(
            "SELECT tag || gate || not_before || expires_at || version FROM sluice_actions ORDER BY id"
        ).all { $0.text(0) }
        let row = "albumwifi2040-01-02T03:04:05.000000Z2041-01-02T03:04:05.000007Z3"
        #expect(rows == [row, row])
        for wrong in [
            ["--payload-version", "0"], ["--not-before", "soon"], ["--tag", ""], ["--group", ""],
            ["--member", ""],
        ] {
            let refused = try await enqueue(wrong + ["--payload", "1"], input: "")
            #expect(refused.status == .exited(64), "\(refused)")
        }
    }
}
#endif
