#if PostgreSQL
import Sluice
import SluicePostgres

/// The parameters of a call, as the text in which they are sent.
struct ModelCall {
    private let parameters: [String?]

    init(_ parameters: [String?]) { self.parameters = parameters }

    /// The function of the schema that a statement calls, without its prefix.
    static func function(in sql: String) -> String? {
        guard let match = sql.firstMatch(of: /sluice_([a-z_]+)\(/) else { return nil }
        return String(match.1)
    }

    func text(_ index: Int) -> String? { parameters[index] }
    func word(_ index: Int) -> String { parameters[index] ?? "" }

    func number(_ index: Int) -> Int64 {
        guard let number = Int64(word(index)) else {
            preconditionFailure("parameter \(index + 1) is no number: \(word(index))")
        }
        return number
    }

    /// An interval in microseconds.
    func interval(_ index: Int) -> Int64 { Self.microseconds(word(index)) }

    static func microseconds(_ text: String) -> Int64 {
        guard let number = Int64(text.prefix { $0 != " " }) else {
            preconditionFailure("an interval: \(text)")
        }
        return number
    }

    func numbers(_ index: Int) -> [Int64] { array(index).compactMap { $0.flatMap { Int64($0) } } }

    /// The elements of an array; NULL is `nil`, and so is each element of a NULL in place of the array.
    func array(_ index: Int, count: Int) -> [String?] {
        parameters[index] == nil ? Array(repeating: nil, count: count) : array(index)
    }

    func array(_ index: Int) -> [String?] {
        guard let text = parameters[index] else { return [] }
        var elements: [String?] = []
        var (element, isQuoted, isInQuotes, isEscaped, hasElement) = ("", false, false, false, false)
        func add() {
            if hasElement { elements.append(!isQuoted && element == "NULL" ? nil : element) }
            (element, isQuoted, hasElement) = ("", false, false)
        }
        for scalar in text.dropFirst().dropLast().unicodeScalars {
            if isEscaped {
                element.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                isInQuotes.toggle()
                (isQuoted, hasElement) = (true, true)
            } else if scalar == ",", !isInQuotes {
                add()
            } else {
                element.unicodeScalars.append(scalar)
                hasElement = true
            }
        }
        add()
        return elements
    }
}

extension PostgresRows {
    static let none = PostgresRows(columns: [], rows: [])

    /// One row of these columns.
    static func one(_ values: KeyValuePairs<String, String?>) -> PostgresRows {
        PostgresRows(columns: values.map(\.key), rows: [values.map(\.value)])
    }
}

/// The rows of a step: each has all columns.
struct ModelAnswer {
    private static let columns = [
        "what", "claim", "follows", "action_id", "queue_id", "queue", "kind", "version", "payload", "trace",
        "nonce", "attempts", "last_error", "is_alone", "route", "cause", "policy", "enqueued_at", "due_at",
    ]
    private var values: [[String?]] = []
    private(set) var claims: [Int64] = []

    mutating func add(_ what: String, claim: Int64) { add(["what": what, "claim": "\(claim)"]) }

    mutating func add(_ row: [String: String?]) {
        values.append(Self.columns.map { row[$0] ?? nil })
        if row["what"] == "claimed", let claim = row["claim"] ?? nil {
            claims += Int64(claim).map { [$0] } ?? []
        }
    }

    var rows: PostgresRows { PostgresRows(columns: Self.columns, rows: values) }
}
#endif
