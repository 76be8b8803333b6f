internal import SluiceJSON

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Reads how long a server asks its clients to wait.
///
/// ```swift
/// let header = response.value(forHTTPHeaderField: "Retry-After")
/// guard let wait = RetryAfter.parse(header) else { return .retry }
/// return .release(after: wait, because: "the server is busy")
/// ```
public enum RetryAfter {
    /// The longest wait that is returned, so that a faulty server stops nothing for years: a day.
    public static let longest: Duration = .seconds(86_400)

    /// Parses the value of the header `Retry-After`: seconds, or a date in one of the three forms of HTTP.
    ///
    /// The forms are those of RFC 9110, 5.6.7 and 10.2.3 (<https://www.rfc-editor.org/rfc/rfc9110>), such as
    /// `120` and `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// - Parameters:
    ///   - value: The header's value; `nil` if there is none.
    ///   - now: The time from which a date counts; a date in the past is no wait.
    /// - Returns: The wait, at most ``longest``; `nil` if there is none or it cannot be read.
    public static func parse(_ value: String?, now: Date = Date()) -> Duration? {
        guard let text = value?.trimmed, !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
            // More digits than a number has are a long wait.
            return min(.seconds(Int64(text) ?? .max / 2), longest)
        }
        guard let date = HTTPDate(text, now: now) else { return nil }
        return min(max(.seconds(date.secondsSince1970 - now.timeIntervalSince1970), .zero), longest)
    }

    /// Returns the wait of a number of milliseconds, such as Matrix's `retry_after_ms`.
    ///
    /// - Returns: The wait, at most ``longest``; `nil` if there is no number, or a negative one.
    public static func parse(milliseconds: Int64?) -> Duration? {
        guard let milliseconds, milliseconds >= 0 else { return nil }
        return min(.milliseconds(milliseconds), longest)
    }
}

/// A date as HTTP writes it, in the three forms that RFC 9110 wants to be read.
private struct HTTPDate {
    let secondsSince1970: Double

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    init?(_ text: String, now: Date) {
        // `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
        let (day, month, year, time): (String, String, String, String)
        switch words.count {
        case 6 where words[5] == "GMT": (day, month, year, time) = (words[1], words[2], words[3], words[4])
        case 5: (month, day, time, year) = (words[1], words[2], words[3], words[4])
        default: return nil
        }
        guard let month = Self.months.firstIndex(of: month), (1...2).contains(day.utf8.count),
            var fullYear = Int(year), fullYear >= 0
        else { return nil }
        if year.utf8.count == 2 {
            // At most 50 years ahead, else it is in the past (RFC 9110, 5.6.7).
            let current = Int(1970 + now.timeIntervalSince1970 / 31_556_952)
            fullYear += current / 100 * 100
            if fullYear > current + 50 { fullYear -= 100 }
        }
        func digits(_ number: Int, _ count: Int) -> String {
            String(repeating: "0", count: max(count - "\(number)".count, 0)) + "\(number)"
        }
        guard let dayNumber = Int(day),
            let date = DateTime(
                "\(digits(fullYear, 4))-\(digits(month + 1, 2))-\(digits(dayNumber, 2))T\(time)Z"
            )
        else { return nil }
        secondsSince1970 = Double(date.microseconds) / 1_000_000
    }
}

extension String {
    fileprivate var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
