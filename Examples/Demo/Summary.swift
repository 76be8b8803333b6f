#if CommandLineTool
/// What the demo says in the end.
struct Summary {
    /// Of a claim that does not hold, so many reasons are shown.
    private static let maximumProblems = 5

    var findings: [Checker.Finding]
    var costs: [String]
    var elapsed: Duration
    var seed: UInt64

    var holds: Bool { findings.allSatisfy(\.holds) }

    var lines: [String] {
        ["", "Checked against the server's log:"] + findings.flatMap(Self.lines) + [""]
            + costs + ["", verdict]
    }

    private static func lines(_ finding: Checker.Finding) -> [String] {
        let mark = finding.holds ? "ok" : "FAILED"
        let more = finding.problems.count - maximumProblems
        let problems = finding.problems.prefix(maximumProblems) + (more > 0 ? ["and \(more) more"] : [])
        return ["  \(mark.padded(to: 8))\(finding.claim)"] + problems.map { "          \($0)" }
    }

    private var verdict: String {
        let failures = findings.count { !$0.holds }
        let facts = "\(elapsed.inSeconds), seed \(seed)"
        return failures == 0
            ? "All of this holds (\(facts))."
            : "The demo has failed: \(failures) of its claims do not hold (\(facts))."
    }
}
#endif
