internal import SluiceJSON

#if canImport(FoundationEssentials)
package import struct FoundationEssentials.Date
#else
package import struct Foundation.Date
#endif

/// A point on the wall clock in whole microseconds since 1970 (UTC), as the file stores it.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var microseconds: Int64
    /// The stored time of an action that is deferred until a gate opens; dates out of range are `.max`.
    static let whenOpened = Timestamp(microseconds: .max - 1)
    package init(microseconds: Int64) { self.microseconds = microseconds }

    package init(_ date: Date) {
        let exact = (date.timeIntervalSince1970 * 1_000_000).rounded()
        // Int64(exactly:) would trap or fail beyond its range; dates there are clamped, as SortKey documents.
        microseconds = exact >= 9.2e18 ? .max : exact <= -9.2e18 ? .min : exact.isNaN ? 0 : Int64(exact)
    }

    package var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
    package static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

    /// The point `duration` later, clamped to the range of the type.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = time.microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        return Timestamp(microseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds.subtractingReportingOverflow(right.microseconds).partialValue)
    }

    /// ISO 8601 in UTC with microseconds, as the views show it.
    package var iso8601: String { DateTime(microseconds: microseconds).extendedText }
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
