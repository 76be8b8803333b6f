#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension WaitReason {
    /// The text of ``WaitReason/description`` with durations instead of times, which a narrow column would
    /// cut.
    func text(at now: Date) -> String {
        switch self {
        case .running(let since, let attempt):
            "running for \(Times.short(from: since, to: now)), attempt \(attempt)"
        case .retry(let until): "retry in \(Times.short(from: now, to: until))"
        case .scheduled(let date): "scheduled in \(Times.short(from: now, to: date))"
        case .held(_, _, let until?): "\(description), \(Times.short(from: now, to: until)) more"
        case .gate(let gate, let until?):
            "\(WaitReason.gate(gate)), \(Times.short(from: now, to: until)) more"
        case .permit(.rate(let name, let until)):
            "waiting for the rate limit \(name), \(Times.short(from: now, to: until)) more"
        case .locked(let since, _), .refused(_, let since), .handlersBlocked(let since):
            description.replacing(
                "since \(Times.text(since))",
                with: "for \(Times.short(from: since, to: now))"
            )
        case .held(_, _, nil), .gate(_, nil), .permit, .noRoute, .owned, .parked, .ready, .stopped,
            .undecodable, .unknownKind:
            description
        }
    }

    /// The text for one line: with the end of an error only.
    ///
    /// - Parameter now: As for ``text(at:)``; without it, times are times.
    func brief(at now: Date?) -> String {
        guard case .parked(let action, let cause, let error, _) = self else {
            return now.map { text(at: $0) } ?? description
        }
        return "parked by \(action): \(error.isEmpty ? cause?.rawValue ?? "failing" : Self.end(of: error))"
    }

    /// Returns how a command ended, if the error says it, and the last line of the error.
    static func end(of error: String) -> String {
        // The errors of commands have escaped line breaks.
        let lines = error.replacing("\\n", with: "\n").split(whereSeparator: \.isNewline)
        guard lines.count > 1, let first = lines.first, let last = lines.last else { return error }
        let isOfCommand = ["exited with ", "ended by signal "].contains { first.hasPrefix($0) }
        let status: Substring = isOfCommand ? first.prefix { $0 != ":" } + ": " : ""
        return "\(status)…\(last)"
    }
}

extension QueueStatus {
    /// The text of ``QueueStatus/reason`` for one line; as ``WaitReason/brief(at:)``.
    func briefReason(at now: Date? = nil) -> String {
        let first = because.first?.brief(at: now) ?? ""
        return untoldError.map { "\(first); \(WaitReason.end(of: $0))" } ?? first
    }
}
#endif
