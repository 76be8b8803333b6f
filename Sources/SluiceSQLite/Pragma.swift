/// A pragma and its required value; set, then read back, as distributions ignore different ones.
///
/// Source: <https://www.sqlite.org/pragma.html>
package struct Pragma: Hashable, Sendable {
    package let name: String
    /// The text after the `=`.
    package let value: String
    /// The answer of the pragma afterwards.
    package let answer: String

    package init(_ name: String, _ value: String, answers answer: String? = nil) {
        self.name = name
        self.value = value
        self.answer = answer ?? value
    }

    package init(_ name: String, _ value: Int) { self.init(name, String(value)) }
    package init(_ name: String, _ isOn: Bool) { self.init(name, isOn ? "1" : "0") }
}

extension Connection {
    /// Sets a pragma and reads it back.
    ///
    /// The statement is prepared each time: some pragmas act when they are prepared, not when they run.
    ///
    /// - Throws: `SQLiteError` if SQLite refuses, `PragmaRefused` if it keeps another value.
    package func set(_ pragma: Pragma) throws {
        try execute("PRAGMA \(pragma.name) = \(pragma.value)")
        let actual = try self.pragma(pragma.name)
        guard actual.lowercased() == pragma.answer.lowercased() else {
            throw PragmaRefused(pragma: pragma, actual: actual)
        }
    }

    /// Returns the answer of a pragma as text; empty without an answer.
    package func pragma(_ name: String) throws(SQLiteError) -> String {
        try prepare("PRAGMA \(name)").first { $0.text(0) } ?? ""
    }
}
