#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Testing

@Suite("Lines that come one by one", .watched) struct StreamTests {
    /// A verb that reads lines, and one.
    private static let verbs = [
        (["enqueue", "--kind", "k", "--queue-field", "q", "--from", "-"], #"{"q": "a"}"#),
        (["import", "--from", "-"], #"{"queue": "a", "kind": "k", "payload": 1}"#),
    ]

    /// Returns when as many actions are in the file.
    private func wait(for count: Int, in place: Workplace) async throws {
        while try await place.sluice("actions", "--json").lines.count < count {}
    }

    @Test(
        "A line that has come is stored though more may come, and a signal stores the rest and says how many",
        arguments: verbs,
        [Signal.terminate, .interrupt, .terminalClosed, .quit]
    )
    func stream(verb: (words: [String], line: String), signal: Signal) async throws {
        let place = try Workplace()
        let lines = try place.makePipe("lines")
        // Made before, so that a look finds a file.
        _ = try await place.sluice("import", "--from", "/dev/null")
        let shell = "file=$1; shift; exec \"$0\" \"$@\" --file \"$file\" < '\(lines)' 2>&1 & echo $!; wait $!"
        var output: [String] = []
        let status = try await Tool.follow(
            ["-c", shell, Tool.path, place.path] + verb.words,
            of: "/bin/sh"
        ) { text, _ in
            output.append(text)
            guard let process = pid_t(text) else { return }
            try place.write(to: lines, verb.line + "\n" + verb.line + "\n")
            try await wait(for: 2, in: place)
            // One more, and half a one.
            try place.write(to: lines, verb.line + "\n" + verb.line)
            #expect(kill(process, signal.rawValue) == 0)
        }
        #expect(status == .exited(128 + signal.rawValue))
        #expect(
            output.filter { $0.hasPrefix("sluice:") } == [
                "sluice: stopped by signal \(signal.rawValue) after line 3: 3 enqueued, 0 refused"
            ]
        )
        #expect(try await place.actions().count == 3)
    }

    @Test("A line that has come is stored though the next one dribbles in", arguments: verbs)
    func dribble(verb: (words: [String], line: String)) async throws {
        let place = try Workplace()
        let lines = try place.makePipe("lines")
        _ = try await place.sluice("import", "--from", "/dev/null")
        let shell = "file=$1; shift; exec \"$0\" \"$@\" --file \"$file\" < '\(lines)' 2>&1 & echo $!; wait $!"
        _ = try await Tool.follow(
            ["-c", shell, Tool.path, place.path] + verb.words,
            of: "/bin/sh"
        ) { text, _ in
            guard let process = pid_t(text) else { return }
            try place.write(to: lines, verb.line + "\n")
            while try await place.sluice("actions", "--json").lines.isEmpty {
                // Never an end of the line, and never long without a byte.
                try place.write(to: lines, " ")
            }
            #expect(kill(process, SIGTERM) == 0)
        }
    }

    @Test("A byte order mark before the first line, or a payload, is passed over")
    func byteOrderMark() async throws {
        let place = try Workplace()
        let mark = "\u{FEFF}"
        for (words, line) in Self.verbs {
            let result = try await Tool.run(
                words + ["--file", place.path],
                input: "\(mark)\(line)\n\(line)\n"
            )
            #expect(result.status == .exited(0), "\(result)")
        }
        let one = try await place.sluice("enqueue", "--queue", "a", "--kind", "k", input: "\(mark)7\n")
        #expect(one.status == .exited(0), "\(one)")
        #expect(try await place.actions().count == 5)
        // Anywhere else it is what it is.
        let other = try await place.sluice("enqueue", "--queue", "a", "--kind", "k", "--payload", "\(mark)7")
        #expect(other.status == .exited(65))
        #expect(other.errors.contains("byte order mark"))
    }

    @Test("A payload as deep as any is exported and imported again")
    func depth() async throws {
        let (place, other) = (try Workplace(), try Workplace())
        let payload = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        let enqueued = try await place.sluice("enqueue", "--queue", "q", "--kind", "k", input: payload)
        #expect(enqueued.status == .exited(0), "\(enqueued)")
        let lines = try await place.sluice("export").output
        let imported = try await other.sluice("import", "--from", "-", input: lines)
        #expect(imported.status == .exited(0), "\(imported)")
        #expect(try await other.sluice("export").output == lines)
        let again = try await other.sluice("run", "--exec", "cat", "--until-empty")
        #expect(again.output == payload + "\n", "\(again.status) \(again.errors)")
    }
}
#endif
