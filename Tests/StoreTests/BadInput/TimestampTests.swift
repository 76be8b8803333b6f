import Foundation
import TestSupport
import Testing

@testable import Sluice

@Suite("Points in time at their ends", .watched) struct TimestampTests {
    @Test(
        "Every point in time has a text, the first and the last of all too",
        arguments: [
            (Int64.min, "-290308-12-21T19:59:05.224192Z"), (.max, "294247-01-10T04:00:54.775807Z"),
            (-1, "1969-12-31T23:59:59.999999Z"), (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
        ]
    )
    func text(_ microseconds: Int64, _ text: String) {
        #expect(Timestamp(microseconds: microseconds).iso8601 == text)
    }

    @Test("Sums and differences at the ends are clamped or wrap, and do not trap")
    func sums() {
        #expect(Timestamp(microseconds: .max) + .seconds(1) == Timestamp(microseconds: .max))
        #expect(Timestamp(microseconds: .min) + .seconds(-1) == Timestamp(microseconds: .min))
        #expect(Timestamp(Date(timeIntervalSince1970: .infinity)) == Timestamp(microseconds: .max))
        #expect(Timestamp(Date(timeIntervalSince1970: .nan)) == Timestamp(microseconds: 0))
        let difference = Timestamp(microseconds: .max) - Timestamp(microseconds: .min)
        #expect(difference == .microseconds(-1))
    }
}
