#if canImport(FoundationEssentials)
package import struct FoundationEssentials.Date
#else
package import struct Foundation.Date
#endif

extension Date {
    /// The date in ISO 8601, rounded to the microsecond; `nil` outside the years 0 to 9999.
    package var iso8601: String? {
        let exact = (timeIntervalSince1970 * 1_000_000).rounded()
        return abs(exact) < 1e18 ? DateTime(microseconds: Int64(exact)).text : nil
    }

    /// Reads a date in ISO 8601, in the forms of ``DateTime``; `nil` if the text is not a date.
    package init?(iso8601 text: String) {
        guard let time = DateTime(text) else { return nil }
        self.init(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
    }
}
