/// A date, or a date and a time, in ISO 8601, as whole microseconds since 1970 (UTC).
///
/// As in `2017-05-11T15:46:08.512661`, with `Z`, `+02:00`, `+0200`, `+02` or no zone, which is UTC; in
/// `2017-05-11 15:46`; and in `2017-05-11`, at midnight. Digits after the sixth of a second are cut off. All
/// arithmetic is in integers: a `Double` of seconds since 1970 cannot represent every microsecond.
package struct DateTime: Hashable, Sendable {
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    /// Reads a text; `nil` if it is not a date.
    package init?(_ text: String) {
        var rest = ASCIIReader(text)
        guard
            let year = rest.digits(4), rest.skip("-"), let month = rest.digits(2), rest.skip("-"),
            let day = rest.digits(2)
        else { return nil }
        let days = Self.daysSince1970(year, month, day)
        // There is no such month or day if it counts as another.
        guard Self.civil(days) == (year, month, day) else { return nil }
        var seconds = days * 86_400
        var fraction: Int64 = 0
        if rest.skip("T") || rest.skip("t") || rest.skip(" ") {
            guard let time = rest.timeOfDay(), let zone = rest.zone() else { return nil }
            seconds += time.seconds - zone
            fraction = time.microseconds
        }
        guard rest.isAtEnd else { return nil }
        microseconds = seconds * 1_000_000 + fraction
    }

    /// The time in ISO 8601, in UTC: `2026-05-01T12:00:00.000000Z`; `nil` outside the years 0 to 9999.
    package var text: String? {
        (-62_167_219_200_000_000...253_402_300_799_999_999).contains(microseconds) ? extendedText : nil
    }

    /// The same for all times: a year has four digits or more, and a sign if it is before the year 0.
    package var extendedText: String {
        let (seconds, fraction) = Self.divide(microseconds, 1_000_000)
        let (days, secondOfDay) = Self.divide(seconds, 86_400)
        let (year, month, day) = Self.civil(days)
        func digits(_ value: Int64, _ count: Int) -> String {
            let text = String(value.magnitude)
            return (value < 0 ? "-" : "") + String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
        let parts = [secondOfDay / 3_600, secondOfDay / 60 % 60, secondOfDay % 60]
        let time = parts.map { digits($0, 2) }.joined(separator: ":")
        return "\(date)T\(time).\(digits(fraction, 6))Z"
    }

    /// Returns the days from 1970-01-01 in the proleptic Gregorian calendar.
    ///
    /// The year begins in March here, so that the leap day is its last; the first of March of the year 0 is
    /// 719,468 days before 1970.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let leapDays =
            divide(shifted, 4).quotient - divide(shifted, 100).quotient + divide(shifted, 400).quotient
        return shifted * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 1 - 719_468
    }

    /// Returns the date of a day counted from 1970-01-01: the inverse of ``daysSince1970(_:_:_:)``.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Counted from the first of March of the year 0, in eras of 400 years.
        let (era, dayOfEra) = divide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    /// Rounds down, without a step below the smallest number.
    private static func divide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let remainder = (value % divisor + divisor) % divisor
        return (value / divisor - (value % divisor < 0 ? 1 : 0), remainder)
    }
}

/// Reads a text from left to right.
private struct ASCIIReader {
    private var bytes: ArraySlice<UInt8>

    init(_ text: String) { bytes = Array(text.utf8)[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    /// Reads a number with this many digits.
    mutating func digits(_ count: Int) -> Int64? {
        let digits = bytes.prefix(count)
        guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return nil }
        bytes = bytes.dropFirst(count)
        return Self.number(digits)
    }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard bytes.first == UInt8(ascii: scalar) else { return false }
        bytes = bytes.dropFirst()
        return true
    }

    /// Reads `15:46`, `15:46:08`, `15:46:08.5`; a leap second is the first of the next minute.
    mutating func timeOfDay() -> (seconds: Int64, microseconds: Int64)? {
        guard let hour = digits(2), hour < 24, skip(":") else { return nil }
        guard let minute = digits(2), minute < 60 else { return nil }
        guard skip(":") else { return (hour * 3_600 + minute * 60, 0) }
        guard let second = digits(2), second <= 60 else { return nil }
        let seconds = hour * 3_600 + minute * 60 + second
        guard skip(".") || skip(",") else { return (seconds, 0) }
        let fraction = bytes.prefix(while: Self.isDigit)
        guard !fraction.isEmpty else { return nil }
        bytes = bytes.dropFirst(fraction.count)
        // Six places, of which missing ones are zeros.
        let zeros = Array(repeating: UInt8(ascii: "0"), count: 6)
        return (seconds, Self.number((fraction.prefix(6) + zeros).prefix(6)))
    }

    /// Reads seconds east of UTC; no zone is UTC.
    mutating func zone() -> Int64? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let sign: Int64
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = digits(2), hours < 24 else { return nil }
        _ = skip(":")
        if isAtEnd { return sign * hours * 3_600 }
        guard let minutes = digits(2), minutes < 60 else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64 {
        digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}
