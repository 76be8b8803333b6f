#if GRDB
internal import GRDB
internal import Sluice

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

extension Row {
    /// Returns a time: ISO 8601 in UTC with microseconds, or their number beyond the years 0 to 9999.
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

    /// Returns a time that is never null.
    func requiredTime(_ column: String) throws -> Date {
        guard let time = try time(column) else { throw unreadable(column) }
        return time
    }

    /// Returns a word as one of a set of cases.
    func word<Word: RawRepresentable<String>>(_ column: String, as type: Word.Type) throws -> Word {
        guard let word = Word(rawValue: self[column]) else { throw unreadable(column) }
        return word
    }

    private func unreadable(_ column: String) -> SluiceError {
        SluiceError(.unsupportedDatabase, "the view's column \(column) has a value unknown to this version")
    }
}

extension Timestamp {
    /// Reads the format of ``iso8601``: 27 characters, with six decimals.
    fileprivate init?(iso8601 text: String) {
        // GRDB reads whole seconds exactly, but only three decimals.
        guard text.utf8.count == 27, let micros = Int64(text.dropFirst(20).prefix(6)),
            let date = Date.fromDatabaseValue(String(text.prefix(19)).databaseValue)
        else { return nil }
        self.init(microseconds: Int64(date.timeIntervalSince1970.rounded()) * 1_000_000 + micros)
    }
}
#endif
