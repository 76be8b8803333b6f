#if GRDB
internal import GRDB
internal import Sluice

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

extension Row {
    /// A time as the views show it: ISO 8601 in UTC to the microsecond, and beyond the years 0 to 9999 the
    /// number of microseconds.
    func time(_ column: String) throws -> Date? {
        let value: DatabaseValue = self[column]
        switch value.storage {
        case .null:
            return nil
        case .int64(let microseconds):
            return Timestamp(microseconds: microseconds).date
        case .string(let text):
            guard let time = Timestamp(iso8601: text) else { throw unreadable(column) }
            return time.date
        default:
            throw unreadable(column)
        }
    }

    /// A time that is always there.
    func requiredTime(_ column: String) throws -> Date {
        guard let time = try time(column) else { throw unreadable(column) }
        return time
    }

    /// A word for one of a set of cases.
    func word<Word: RawRepresentable<String>>(_ column: String, as type: Word.Type) throws -> Word {
        guard let word = Word(rawValue: self[column]) else { throw unreadable(column) }
        return word
    }

    private func unreadable(_ column: String) -> SluiceError {
        SluiceError(.unsupportedDatabase, "the view's column \(column) holds what this version does not know")
    }
}

extension Timestamp {
    /// Reads what ``iso8601`` writes: 27 characters, with six decimals.
    fileprivate init?(iso8601 text: String) {
        // GRDB reads whole seconds exactly, and decimals to the third.
        guard text.utf8.count == 27, let micros = Int64(text.dropFirst(20).prefix(6)),
            let date = Date.fromDatabaseValue(String(text.prefix(19)).databaseValue)
        else { return nil }
        self.init(microseconds: Int64(date.timeIntervalSince1970.rounded()) * 1_000_000 + micros)
    }
}
#endif
