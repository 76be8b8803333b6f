/// A pragma and the value it must have; set, then read back, because libraries and distributions differ in
/// what they take over silently.
///
/// Source: <https://www.sqlite.org/pragma.html>
package struct Pragma: Hashable, Sendable {
    package let name: String
    /// What stands behind the `=`.
    package let value: String
    /// What the pragma must answer afterwards.
    package let answer: String

    package init(_ name: String, _ value: String, answers answer: String? = nil) {
        self.name = name
        self.value = value
        self.answer = answer ?? value
    }

    package init(_ name: String, _ value: Int) {
        self.init(name, String(value))
    }

    package init(_ name: String, _ isOn: Bool) {
        self.init(name, isOn ? "1" : "0")
    }
}

/// A pragma kept another value than the one it was given.
package struct PragmaRefused: Error, Hashable, Sendable {
    package let pragma: Pragma
    /// The value that it has instead; empty where it gives none.
    package let actual: String
}

extension Connection {
    /// Sets a pragma and reads it back.
    ///
    /// The statement is prepared afresh: some pragmas act when they are prepared, not when they run.
    ///
    /// - Throws: `SQLiteError` where SQLite refuses, `PragmaRefused` where it keeps another value.
    package func set(_ pragma: Pragma) throws {
        try execute("PRAGMA \(pragma.name) = \(pragma.value)")
        let actual = try self.pragma(pragma.name)
        guard actual.lowercased() == pragma.answer.lowercased() else {
            throw PragmaRefused(pragma: pragma, actual: actual)
        }
    }

    /// What a pragma answers, as text; empty where it answers nothing.
    package func pragma(_ name: String) throws(SQLiteError) -> String {
        try prepare("PRAGMA \(name)").first { $0.text(0) } ?? ""
    }
}
