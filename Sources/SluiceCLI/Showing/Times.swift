#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Times and durations in the form that people write and read.
enum Times {
    /// Returns ISO 8601 in UTC with microseconds, as in SQL; the number itself outside the years 0 to 9999.
    static func text(_ time: Timestamp) -> String {
        guard (-62_167_219_200_000_000...253_402_300_799_999_999).contains(time.microseconds) else {
            return String(time.microseconds)
        }
        let (seconds, microseconds) = floorDivide(time.microseconds, 1_000_000)
        let (days, secondOfDay) = floorDivide(seconds, 86_400)
        let (year, month, day) = civil(days)
        func digits(_ value: Int64, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
        let parts = [secondOfDay / 3_600, secondOfDay / 60 % 60, secondOfDay % 60]
        let time = parts.map { digits($0, 2) }.joined(separator: ":")
        return "\(date)T\(time).\(digits(microseconds, 6))Z"
    }

    static func text(_ date: Date) -> String { text(Timestamp(date)) }

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

    /// Returns the date of a day counted from 1970-01-01: the inverse of the count in ``DateTime``.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Counted from the first of March of the year 0, in eras of 400 years.
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let remainder = (value % divisor + divisor) % divisor
        return ((value - remainder) / divisor, remainder)
    }
}
#endif
