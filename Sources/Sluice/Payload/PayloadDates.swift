internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// How a broker writes each `Date` in a payload.
///
/// A broker reads both forms, whichever it writes.
public enum PayloadDates: Sendable, Hashable {
    /// Text in ISO 8601, in UTC with microseconds, such as `"2026-05-01T12:00:00.000000Z"`.
    ///
    /// Fractions of a microsecond are lost. A date outside the years 0 to 9999 is written as a number.
    case iso8601
    /// The number of seconds since 2001-01-01 00:00:00 UTC, the default of Foundation's `JSONEncoder`.
    case secondsSince2001

    // What Foundation's coders do with dates; `JSONWriter` and `JSONTape` do the same.

    @Sendable static func encode(_ date: Date, to encoder: any Encoder) throws {
        if let text = date.iso8601 { return try text.encode(to: encoder) }
        try date.timeIntervalSinceReferenceDate.encode(to: encoder)
    }

    /// Reads a date in either form; the accepted texts are those of ``DateTime``.
    @Sendable static func date(from decoder: any Decoder) throws -> Date {
        let container = try decoder.singleValueContainer()
        guard let text = try? container.decode(String.self) else {
            return Date(timeIntervalSinceReferenceDate: try container.decode(Double.self))
        }
        guard let date = Date(iso8601: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "It is no ISO 8601 date.")
        }
        return date
    }
}
