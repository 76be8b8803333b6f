#if canImport(FoundationEssentials)
package import struct FoundationEssentials.Date
#else
package import struct Foundation.Date
#endif

/// A point on the wall clock in whole microseconds since 1970 (UTC), as the file stores it.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var microseconds: Int64

    /// The stored time of an action that is deferred until a gate opens.
    ///
    /// The largest but one: dates beyond the range are stored as the largest.
    static let whenOpened = Timestamp(microseconds: .max - 1)

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    package init(_ date: Date) {
        let exact = (date.timeIntervalSince1970 * 1_000_000).rounded()
        // Int64(exactly:) would trap or fail beyond its range; dates there are clamped, as SortKey documents.
        if exact >= 9.2e18 {
            microseconds = .max
        } else if exact <= -9.2e18 {
            microseconds = .min
        } else {
            microseconds = exact.isNaN ? 0 : Int64(exact)
        }
    }

    package var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The point `duration` later, clamped to the range of the type.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = time.microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        return Timestamp(microseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The time from `right` to `left`.
    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds.subtractingReportingOverflow(right.microseconds).partialValue)
    }
}

extension Timestamp {
    /// ISO 8601 in UTC with microseconds, as the views show it.
    package var iso8601: String {
        let (seconds, fraction) = Self.divide(microseconds, by: 1_000_000)
        let (day, second) = Self.divide(seconds, by: 86_400)
        // Days since 0000-03-01 of the Gregorian calendar, which puts a leap day at the end of its year
        // (<https://howardhinnant.github.io/date_algorithms.html#civil_from_days>).
        let (era, dayOfEra) = Self.divide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = [(year, 4), (month, 2), (dayOfYear - (153 * shifted + 2) / 5 + 1, 2)].map(Self.digits)
        let time = [(second / 3_600, 2), (second / 60 % 60, 2), (second % 60, 2)].map(Self.digits)
        return "\(date.joined(separator: "-"))T\(time.joined(separator: ":")).\(Self.digits(fraction, 6))Z"
    }

    private static func divide(_ number: Int64, by divisor: Int64) -> (Int64, Int64) {
        // Rounded down, without a step below the smallest number.
        let remainder = (number % divisor + divisor) % divisor
        return (number / divisor - (number % divisor < 0 ? 1 : 0), remainder)
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number.magnitude)
        return (number < 0 ? "-" : "") + String(repeating: "0", count: max(count - text.count, 0)) + text
    }
}

extension Duration {
    /// The duration in microseconds, rounded down, clamped to ±100 years so that sums of two cannot overflow.
    package var wholeMicroseconds: Int64 {
        let limit: Int64 = 100 * 366 * 86_400
        let (seconds, attoseconds) = components
        guard seconds < limit else { return limit * 1_000_000 }
        guard seconds > -limit else { return -limit * 1_000_000 }
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
