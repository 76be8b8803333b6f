#if CommandLineTool
internal import Sluice

/// Times as seconds since a date, as other libraries store them.
enum FolderTime {
    /// 1970-01-01.
    static let unixEpoch = 0.0
    /// 2001-01-01, from which Foundation counts.
    static let referenceDate = 978_307_200.0

    /// Returns a time in the years 1970 to 9999; `nil` for other numbers.
    static func time(_ seconds: Double, since epoch: Double) -> Timestamp? {
        let microseconds = ((seconds + epoch) * 1_000_000).rounded()
        guard (0..<253_402_300_800_000_000).contains(microseconds) else { return nil }
        return Timestamp(microseconds: Int64(microseconds))
    }

    /// Returns a field's number of seconds.
    static func seconds(_ field: String, of members: JSONMembers) throws(Refusal) -> Double {
        guard let raw = members.raw(field) else { throw Refusal("the field '\(field)' is missing") }
        guard let seconds = Double(raw) else { throw Refusal("the field '\(field)' is no number") }
        return seconds
    }

    /// Returns a field's time.
    static func time(
        _ field: String,
        of members: JSONMembers,
        since epoch: Double
    ) throws(Refusal) -> Timestamp {
        guard let time = time(try seconds(field, of: members), since: epoch) else {
            throw Refusal("the field '\(field)' is no time between 1970 and 9999")
        }
        return time
    }
}
#endif
