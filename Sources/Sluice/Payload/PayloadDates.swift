/// How a broker writes each `Date` in a payload.
///
/// A broker reads both forms, whichever it writes.
public enum PayloadDates: Sendable, Hashable {
    /// Text in ISO 8601, in UTC with microseconds, such as `"2026-05-01T12:00:00.000000Z"`.
    ///
    /// SQLite's date functions and other programs read it.
    ///
    /// Fractions of a microsecond are lost. A date outside the years 0 to 9999 is written as a number.
    case iso8601
    /// The number of seconds since 2001-01-01 00:00:00 UTC, the default of Foundation's `JSONEncoder`.
    case secondsSince2001
}
