import Foundation
import Sluice
import TestSupport
import Testing

@Suite("How long a server asks to wait", .watched) struct RetryAfterTests {
    /// 1994-11-06T08:49:37Z, the example of RFC 9110.
    private let example = Date(timeIntervalSince1970: 784_111_777)

    @Test(
        "The three forms of a date in HTTP, and seconds",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37.0), ("Sunday, 06-Nov-94 08:49:37 GMT", 37),
            ("Sun Nov  6 08:49:37 1994", 37), (" 120\t", 120), ("0", 0),
        ]
    )
    func forms(_ value: String, _ seconds: Double) {
        #expect(RetryAfter.parse(value, now: example.addingTimeInterval(-37)) == .seconds(seconds))
    }

    @Test("What is past is no wait; what is far is a day; two digits of a year are at most 50 years ahead")
    func bounds() {
        #expect(
            RetryAfter.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: example.addingTimeInterval(9)) == .zero
        )
        #expect(RetryAfter.parse("Sun, 06 Nov 2094 08:49:37 GMT", now: example) == RetryAfter.longest)
        #expect(RetryAfter.parse("99999999999999999999", now: example) == RetryAfter.longest)
        let now = Date(timeIntervalSince1970: 1_795_000_000)  // 2026
        #expect(RetryAfter.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: now) == .zero)
        #expect(RetryAfter.parse("Friday, 06-Nov-76 08:49:37 GMT", now: now) == RetryAfter.longest)
    }

    @Test(
        "What cannot be read is no wait that anybody asked for",
        arguments: [
            nil, "", "  ", "-1", "1.5", "soon", "Sun, 06 Nov 1994", "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "6 6 6 6 6", "é 6 é",
        ]
    )
    func unreadable(_ value: String?) {
        #expect(RetryAfter.parse(value, now: example) == nil)
    }

    @Test("Milliseconds, as Matrix gives them")
    func milliseconds() {
        #expect(RetryAfter.parse(milliseconds: 2_500) == .milliseconds(2_500))
        #expect(RetryAfter.parse(milliseconds: .max) == RetryAfter.longest)
        #expect(RetryAfter.parse(milliseconds: -1) == nil)
        #expect(RetryAfter.parse(milliseconds: nil) == nil)
    }
}
