#if CommandLineTool
import Logging
@testable import Sluice
import Subprocess
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("The log of a run, on standard error", .watched) struct RemarkLogTests {
    @Test("A pattern that meets nothing is said once: what the run has said, its log does not repeat")
    func patternOnce() {
        let facts: Logger.Metadata = ["pattern": "rare/*"]
        let message = LogMessages.unmatchedPattern
        #expect(RemarkLogHandler.remark(message, facts) == "\(message): pattern=rare/*")
        RemarkLogHandler.hasSaid(["rare/*", "other"])
        #expect(RemarkLogHandler.remark(message, facts) == nil)
        #expect(RemarkLogHandler.remark("no route", facts) == "no route: pattern=rare/*")
    }

    @Test("A value with a space, a quote or an equals sign is in quotes in a line of the log")
    func quotes() async throws {
        for (value, text) in [
            ("exited", "exited"), ("with 65", #""with 65""#), ("a=b", #""a=b""#), ("", #""""#),
            (#"say "a\b""#, #""say \"a\\b\"""#),
        ] {
            #expect(RemarkLogHandler.remark("m", ["k": "\(value)"]) == "m: k=\(text)")
        }
        let place = try Workplace()
        try await place.enqueue("q")
        let run = try await place.sluice("run", "--exec", "echo no room >&2; exit 65", "--until-empty")
        #expect(run.errors.contains(#"error="exited with 65: no room""#), "\(run)")
    }
}
#endif
