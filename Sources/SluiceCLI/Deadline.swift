#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

/// The end of a run: `50s`, `10m`, or `2026-05-01T06:00:00Z`.
enum Deadline: ExpressibleByArgument {
    case after(Duration)
    case at(DateTime)

    init?(argument: String) {
        if let span = Span(argument: argument) {
            self = .after(span.duration)
        } else if let time = DateTime(argument) {
            self = .at(time)
        } else {
            return nil
        }
    }

    /// Returns the time until the deadline; zero when it has passed.
    func span(from now: Int64) -> Duration {
        switch self {
        case .after(let span): span
        case .at(let time): .microseconds(max(time.microseconds - now, 0))
        }
    }
}
#endif
