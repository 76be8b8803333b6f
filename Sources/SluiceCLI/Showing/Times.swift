#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Times and durations in the form that people write and read.
enum Times {
    /// Returns ISO 8601 in UTC with microseconds, as in SQL; the number itself outside the years 0 to 9999.
    static func text(_ time: Timestamp) -> String {
        DateTime(microseconds: time.microseconds).text ?? String(time.microseconds)
    }

    /// Returns a text with its times to the second, as a terminal has no room for more.
    static func toSecond(_ text: String) -> String { text.replacing(#/(:\d\d)\.\d{6}Z/#) { "\($0.1)Z" } }

    static func text(_ date: Date) -> String { text(Timestamp(date)) }

    /// Returns the largest unit of a duration: `3 s`, `5 min`, `7 h`, `4 d`.
    ///
    /// In minutes above one: a line that changed each second would be drawn each second.
    static func short(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        switch seconds {
        case 172_800...: return "\(seconds / 86_400) d"
        case 7_200...: return "\(seconds / 3_600) h"
        case 60...: return "\(seconds / 60) min"
        default: return "\(seconds) s"
        }
    }

    /// Returns the largest unit of the time between two dates; zero if the second is earlier.
    static func short(from start: Date, to end: Date) -> String {
        short(Timestamp(start) < Timestamp(end) ? .seconds(end.timeIntervalSince(start)) : .zero)
    }

    /// Returns the two largest units of a duration: `3 d 4 h`, `5 min 2 s`, `7 s`.
    static func span(_ duration: Duration) -> String {
        let seconds = max(duration.components.seconds, 0)
        switch seconds {
        case 86_400...: return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
        case 3_600...: return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
        case 60...: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\(seconds) s"
        }
    }
}
#endif
