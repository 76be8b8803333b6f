#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

/// The types of sort key on the command line.
enum SortType: String, ExpressibleByArgument, CaseIterable {
    /// Detected from the value: a date, an integer, a number, else text.
    case auto
    case date
    case integer
    case real
    case text
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
        }
    }

    private var article: String {
        switch self {
        case .auto: "a date, a number or text"
        case .date: "a date"
        case .integer: "an integer"
        case .real: "a number"
        case .text: "text"
        }
    }
}
#endif
