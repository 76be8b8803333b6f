#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

/// The types of sort key on the command line.
enum SortType: Hashable, Sendable, ExpressibleByArgument, CaseIterable {
    /// Detected from the value: a date, an integer, a number, else text.
    case auto
    case date
    case integer
    case real
    case text
    /// Several parts, of single types.
    indirect case composite([SortType])

    static let allCases: [SortType] = [.auto, .date, .integer, .real, .text]

    /// Reads the name of a type, or of several: `composite:date,integer`.
    init?(argument: String) {
        if let single = Self.allCases.first(where: { "\($0)" == argument }) {
            self = single
            return
        }
        guard argument.hasPrefix(Self.compositePrefix) else { return nil }
        let names = argument.dropFirst(Self.compositePrefix.count)
            .split(separator: ",", omittingEmptySubsequences: false)
        let parts = names.compactMap { name in Self.allCases.first { $0 != .auto && "\($0)" == name } }
        guard (2...4).contains(parts.count), parts.count == names.count else { return nil }
        self = .composite(parts)
    }

    private static let compositePrefix = "composite:"
    static var allValueStrings: [String] { allCases.map { "\($0)" } }
}

extension SortType {
    /// Returns the sort key of a field.
    ///
    /// - Parameter name: The source of the value, for the error: `the field 'sentAt'`.
    func key(_ value: JSONScalar, of name: String) throws(Refusal) -> SortKey {
        switch (self, value) {
        case (_, .missing): throw Refusal("\(name) is missing")
        case (.auto, .text(let text)):
            if let time = DateTime(text) { return .time(Timestamp(microseconds: time.microseconds)) }
            return .text(text)
        case (.date, .text(let text)):
            guard let time = DateTime(text) else { throw Refusal("\(name) is no ISO 8601 date") }
            return .time(Timestamp(microseconds: time.microseconds))
        case (.text, .text(let text)): return .text(text)
        case (.auto, .integer(let integer)), (.integer, .integer(let integer)): return .integer(integer)
        case (.auto, .real(let real)), (.real, .real(let real)): return .real(real)
        case (.real, .integer(let integer)): return .real(Double(integer))
        default:
            throw Refusal("\(name) is \(value.article), not \(article)")
        }
    }

    /// Returns the sort key for a word on the command line.
    func key(fromWord word: String) throws(Refusal) -> SortKey {
        switch self {
        case .text: return .text(word)
        case .date: return try key(.text(word), of: "--sort-key")
        case .integer:
            guard let integer = Int64(word) else { throw Refusal("--sort-key is no integer") }
            return .integer(integer)
        case .real:
            guard let real = Double(word) else { throw Refusal("--sort-key is no number") }
            return .real(real)
        case .auto:
            if let integer = Int64(word) { return .integer(integer) }
            if let real = Double(word), real.isFinite { return .real(real) }
            return try key(.text(word), of: "--sort-key")
        case .composite(let parts):
            // The last part may be text with commas.
            let words = word.split(
                separator: ",",
                maxSplits: parts.count - 1,
                omittingEmptySubsequences: false
            )
            guard words.count == parts.count else {
                throw Refusal(
                    "--sort-key has \(words.count) parts, not \(parts.count): separate them by commas"
                )
            }
            var keys: [SortKey] = []
            for (part, word) in zip(parts, words) { keys.append(try part.key(fromWord: String(word))) }
            return try Self.composite(keys, of: "--sort-key")
        }
    }

    /// Returns the sort key of a line: one of several fields has their names, separated by commas.
    func key(of fields: [String], in line: JSONLine) throws(Refusal) -> SortKey {
        guard case .composite(let parts) = self else {
            return try key(line[fields[0]], of: "the field '\(fields[0])'")
        }
        var keys: [SortKey] = []
        for (part, field) in zip(parts, fields) {
            keys.append(try part.key(line[field], of: "the field '\(field)'"))
        }
        return try Self.composite(keys, of: "the sort key")
    }

    /// The fields of a sort key, whose names are separated by commas if it has several parts.
    func fields(_ names: String) throws(Refusal) -> [String] {
        guard case .composite(let parts) = self else { return [names] }
        let fields = names.split(separator: ",").map(String.init)
        guard fields.count == parts.count else {
            throw Refusal("--sort-field names \(fields.count) fields, and the key has \(parts.count) parts")
        }
        return fields
    }

    private static func composite(_ keys: [SortKey], of name: String) throws(Refusal) -> SortKey {
        switch keys.count {
        case 2: return .composite(keys[0], keys[1])
        case 3: return .composite(keys[0], keys[1], keys[2])
        case 4: return .composite(keys[0], keys[1], keys[2], keys[3])
        default: throw Refusal("\(name) has \(keys.count) parts; give 2 to 4")
        }
    }

    private var article: String {
        switch self {
        case .auto: "a date, a number or text"
        case .date: "a date"
        case .integer: "an integer"
        case .real: "a number"
        case .text: "text"
        case .composite: "several values"
        }
    }
}
#endif
