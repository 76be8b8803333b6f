#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Input that nobody should give", .watched(minutes: 20)) struct BadInputTests {
    /// Lines that are refused, of which each stands among others that are not.
    private static let bad = [
        "", "{", "[]", "null", "\"x\"", #"{"queue":"q","kind":"k"}"#, #"{"queue":"","kind":"k","payload":1}"#,
        #"{"queue":"q","kind":"","payload":1}"#, #"{"queue":7,"kind":"k","payload":1}"#,
        #"{"queue":"q","kind":"k","payload":1,"payload":2}"#, #"{"queue":"q","kind":"k","payload":NaN}"#,
        #"{"queue":"q","kind":"k","payload":1,"version":0}"#,
        #"{"queue":"q","kind":"k","payload":1,"sort_type":"real","sort_key":"nan"}"#,
        #"{"queue":"q","kind":"k","payload":1,"sort_type":"none"}"#,
        #"{"queue":"q","kind":"k","payload":1,"sort_type":"composite:date,text","sort_key":"a\tb"}"#,
        #"{"queue":"q","kind":"k","payload":1,"not_before":"yesterday"}"#,
        #"{"queue":"q","kind":"k","payload":1,"tag":""}"#, #"{"queue":"\ud800","kind":"k","payload":1}"#,
        #"{"queue":"q","kind":"k","payload":1,"stranger":1}"#, "\u{0}", "\u{FEFF}{}",
        #"{"queue":"q","kind":"k","payload":1,"sort_type":"integer","sort_key":9223372036854775808}"#,
        #"{"queue":"q","kind":"k","payload":1,"member_of":"a"}"#,
        String(repeating: "[", count: 5_000), String(repeating: #"{"queue":"#, count: 2_000),
        #"{"queue":"\#(String(repeating: "q", count: 513))","kind":"k","payload":1}"#,
    ]

    @Test(
        "Of a long import with bad lines, all others are stored in their order, and each bad one is told"
    )
    func longImport() async throws {
        let place = try Workplace()
        let count = Reliability.number("SLUICE_IMPORT_LINES", usually: 20_000, short: 5_000)
        let from = place.path(of: "in.jsonl")
        #expect(FileManager.default.createFile(atPath: from, contents: nil))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: from))
        var (text, good, refused) = ("", 0, [Int]())
        for line in 1...count {
            if line.isMultiple(of: 97) {
                let bad = Self.bad[line / 97 % Self.bad.count]
                // An empty line is passed over.
                if !bad.isEmpty { refused.append(line) }
                text += bad + "\n"
            } else {
                good += 1
                text += #"{"queue":"q\#(line % 13)","kind":"k","payload":{"n":\#(line)}}"# + "\n"
            }
            if text.utf8.count > 1 << 20 || line == count {
                try file.write(contentsOf: Data(text.utf8))
                text = ""
            }
        }
        try file.close()
        let result = try await place.sluice("import", "--from", from, "--skip-bad")
        #expect(result.status == .exited(65), "\(result.errors.suffix(2_000))")
        #expect(result.output == "\(good) enqueued, \(refused.count) refused\n")
        let told = result.errors.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 3) }
        // Each with its number and a reason.
        #expect(told.allSatisfy { $0.count == 4 && $0[0] == "sluice:" && $0[1] == "line" && !$0[3].isEmpty })
        // What the file refuses is told behind what does not parse, a batch at a time.
        #expect(told.compactMap { Int($0[2].filter(\.isNumber)) }.sorted() == refused)
        let stored = try await place.sql(
            """
            SELECT count(*), sum(wrong) FROM (SELECT payload ->> '$.n' <= lag(payload ->> '$.n', 1, 0)
                OVER (PARTITION BY queue ORDER BY id) AS wrong FROM sluice_actions)
            """
        )
        #expect(stored == "\(good)|0")
        FileHandle.standardError.write(
            Data("reliability: long import: \(count) lines, \(refused.count) bad ones refused\n".utf8)
        )
    }

    @Test("Paths that are no file end with what they are, make nothing and wait for nobody")
    func paths() async throws {
        let place = try Workplace()
        let pipe = try place.makePipe("pipe")
        for verb in [["queues"], ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1"], ["doctor"]] {
            for (path, status, words) in [
                ("", 64, "--file is empty; give the path of a file"),
                (place.directory, 73, "is a directory; give the path of a file in it"),
                (pipe, 73, "is no plain file but a pipe, a socket or a device"),
            ] {
                let result = try await Tool.run(verb + ["--file", path])
                #expect(result.status == .exited(Int32(status)), "\(verb) \(result)")
                #expect(result.errors.contains(words), "\(verb) \(result)")
            }
        }
        let result = try await Tool.run(
            ["enqueue", "--file", ":memory:", "--queue", "q", "--kind", "k", "--payload", "1"]
        )
        #expect(result.status == .exited(73))
        #expect(result.errors.contains("':memory:' is no path"))
        #expect(!FileManager.default.fileExists(atPath: ":memory:"))
    }

    @Test(
        "Arguments of any sort end with a status of the tool's, never with a crash",
        arguments: [
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--sort-key", "nan"],
            [
                "enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--sort-key", "nan",
                "--sort-type", "real",
            ],
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--sort-key", "1e999"],
            [
                "enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--not-before",
                "9999-12-31T23:59:60Z",
            ],
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--not-before", "0000-01-01"],
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--expires-at", "0000-01-01"],
            [
                "enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--payload-version",
                "9223372036854775807",
            ],
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1", "--payload-version", "-1"],
            ["enqueue", "--queue", "q", "--kind", "k", "--payload", ""],
            ["enqueue", "--queue", "", "--kind", "k", "--payload", "1"],
            ["enqueue", "--queue", "q*", "--kind", "\u{1B}", "--payload", "1", "--tag", ""],
            ["import", "--from", "/dev/null", "--batch-size", "9223372036854775808"],
            ["import", "--from", "/dev/null", "--first-line", "-9223372036854775808"],
            ["move", "9223372036854775807", "--to", "q"], ["move", "-1", "--to", "q"],
            ["move", "9223372036854775808", "--front"], ["remove", "0"], ["remove", ""],
            ["show", ""], ["show", "*"], ["show", "/*"], ["skip", "\u{FEFF}"], ["retry", "--queue", "*/*"],
            ["hold", "--queue", "q", "--for", "1e308d"], ["hold", "--queue", "q", "--for", "nan"],
            ["hold", "--queue", "q", "--for", "-1s"], ["resume", "--id", "99999999999999999999"],
            ["gate", "open", ""], ["dead", "show", "-9223372036854775808"], ["dead", "purge", "nan"],
            ["actions", "--limit", "9223372036854775807"], ["actions", "--limit", "-1"],
            ["run", "--exec", "true", "--for", "inf"], ["run", "--exec", "", "--until-empty"],
            ["backup", ""], ["backup", "/dev/null"], ["backup", "/dev/null/x"], ["export", "--queue", ""],
            ["--file"], ["-f", "-f"], ["\u{1B}[2J"], ["enqueue", "--", "--"], ["help", "nothing"],
        ]
    )
    func arguments(_ arguments: [String]) async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        let result = try await Tool.run(arguments + ["--file", place.path])
        let known: [TerminationStatus] = [0, 1, 10, 64, 65, 66, 73, 74, 75].map { .exited($0) }
        #expect(known.contains(result.status), "\(result)")
        #expect(!result.errors.contains("Fatal error"))
        #expect(!result.errors.unicodeScalars.contains("\u{1B}"))
        // What was there is still there, unless the verb was to take it.
        if arguments[0] != "run" {
            #expect(try await place.sql("SELECT count(*) FROM sluice_actions WHERE payload = '1'") >= "1")
        }
    }

    @Test("The doctor names a trigger that was planted, and its exit status says so")
    func planted() async throws {
        let place = try Workplace()
        try await place.enqueue("q")
        _ = try await place.sql(
            "CREATE TRIGGER planted AFTER INSERT ON sluice_action_rows BEGIN SELECT 1; END"
        )
        let result = try await place.sluice("doctor")
        #expect(result.status == .exited(1))
        #expect(result.output.contains("parts of the schema are not Sluice's: trigger planted"))
    }

    @Test("G13: a command gets the payload by its standard input, and neither remarks nor processes show it")
    func secret() async throws {
        let place = try Workplace()
        _ = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", input: "")
        let canary = "CANARY5150"
        let from = try place.write("in.jsonl", "\"\(canary)\"\n")
        let stored = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", "--from", from)
        #expect(stored.status == .exited(0), "\(stored)")
        let seen = place.path(of: "seen")
        let command = """
            cat > '\(place.path(of: "payload"))'
            cat /proc/$$/environ /proc/$$/cmdline /proc/$PPID/environ /proc/$PPID/cmdline > '\(seen)'
            exit 65
            """
        let result = try await place.sluice("run", "--exec", command, "--on-failure", "skip", "--until-empty")
        #expect(try place.text(of: "payload").contains(canary))
        let shown = try Data(contentsOf: URL(fileURLWithPath: seen))
        #if os(Linux)
        #expect(!shown.isEmpty)
        #endif
        #expect(shown.range(of: Data(canary.utf8)) == nil)
        #expect(!result.output.contains(canary) && !result.errors.contains(canary))
        #expect(try await place.sluice("queues").output.contains(canary) == false)
        // Where somebody asks for the payload, it is shown.
        let letter = try await Tool.run(["dead", "show", "1", "--file", place.path])
        #expect(letter.output.contains(canary))
    }
}
#endif
