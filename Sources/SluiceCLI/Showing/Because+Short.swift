#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension Because {
    /// The text of ``Because/description`` with durations instead of times, which a narrow column would cut.
    func text(at now: Date) -> String {
        switch self {
        case .running(let since, let attempt):
            "running for \(Times.short(from: since, to: now)), attempt \(attempt)"
        case .retry(let until): "retry in \(Times.short(from: now, to: until))"
        case .scheduled(let date): "scheduled in \(Times.short(from: now, to: date))"
        case .held(_, _, let until?): "\(description), \(Times.short(from: now, to: until)) more"
        case .locked(let since, _), .refused(_, let since), .handlersBlocked(let since):
            description.replacing(
                "since \(Times.text(since))",
                with: "for \(Times.short(from: since, to: now))"
            )
        default: description
        }
    }
}

extension QueueStatus {
    /// The text of ``QueueStatus/reason`` with durations instead of times.
    func reason(at now: Date) -> String {
        let first = because.first?.text(at: now) ?? ""
        return untoldError.map { "\(first); \($0)" } ?? first
    }
}
#endif
