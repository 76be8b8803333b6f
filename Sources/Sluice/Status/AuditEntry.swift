#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// What an operator did, and when.
public struct AuditEntry: Sendable, Hashable {
    /// The most characters of an operator's name; longer ones are cut.
    public static let maximumNameLength = 255
    /// The most characters of an act, and of its result; longer ones are cut.
    public static let maximumTextLength = 1_000

    /// When it was done.
    public let time: Date
    /// The operator's name.
    public let person: String
    /// The act, in a sentence; never a payload.
    public let act: String
    /// The result of the act.
    public let result: String

    package init(time: Date, person: String, act: String, result: String) {
        (self.time, self.person, self.act, self.result) = (time, person, act, result)
    }

    /// Makes an entry that a store accepts; empty names are `unknown`.
    package init(_ act: String, by person: String, result: String, at time: Date) {
        func cut(_ text: String, to count: Int) -> String {
            var cut = ""
            cut.unicodeScalars.append(contentsOf: text.unicodeScalars.prefix(count))
            return cut.replacing("\0", with: "\u{FFFD}")
        }
        self.init(
            time: time,
            person: person.isEmpty ? "unknown" : cut(person, to: Self.maximumNameLength),
            act: act.isEmpty ? "unknown" : cut(act, to: Self.maximumTextLength),
            result: cut(result, to: Self.maximumTextLength)
        )
    }
}
