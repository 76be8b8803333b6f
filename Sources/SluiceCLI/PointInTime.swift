#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A time on the command line: `10m` from now, or `2026-05-01T06:00:00Z`; without a zone it is UTC.
enum PointInTime: ExpressibleByArgument {
    case after(Duration)
    case at(DateTime)

    /// What a help says about the forms.
    static let forms = "a span from now, such as 10m or 2h, or a time in ISO 8601; without a zone it is UTC"

    init?(argument: String) {
        if let time = DateTime(argument) {
            self = .at(time)
        } else if let span = Span(argument: argument), argument.last?.isLetter == true {
            // A number alone could be meant as seconds since 1970.
            self = .after(span.duration)
        } else {
            return nil
        }
    }

    /// Returns the time from now until then; zero when it has passed.
    ///
    /// - Parameter now: In microseconds since 1970.
    func span(from now: Int64) -> Duration {
        switch self {
        case .after(let span): span
        case .at(let time): .microseconds(max(time.microseconds - now, 0))
        }
    }

    /// The time by the wall clock.
    var date: Date {
        switch self {
        case .after(let span): Date(timeIntervalSinceNow: span / .seconds(1))
        case .at(let time): Date(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
        }
    }
}
#endif
