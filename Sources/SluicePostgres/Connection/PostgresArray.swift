#if PostgreSQL
/// Values as the text of an array: <https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO>.
enum PostgresArray {
    static func text(_ values: some Sequence<String?>) -> String {
        var text = "{"
        for value in values {
            if text.utf8.count > 1 { text += "," }
            guard let value else {
                text += "NULL"
                continue
            }
            text += "\""
            for scalar in value.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { text.unicodeScalars.append("\\") }
                text.unicodeScalars.append(scalar)
            }
            text += "\""
        }
        return text + "}"
    }

    /// `nil` if all values are: then the whole parameter is NULL.
    static func sparse(_ values: some Sequence<String?>) -> String? {
        values.contains { $0 != nil } ? text(values) : nil
    }

    static func numbers(_ values: some Sequence<some BinaryInteger>) -> String {
        "{\(values.map { "\($0)" }.joined(separator: ","))}"
    }

    /// The numbers in the text of an array; NULL is `nil`.
    static func numbers(in text: String) -> [Int64?] {
        text.dropFirst().dropLast().split(separator: ",").map { Int64($0) }
    }
}
#endif
