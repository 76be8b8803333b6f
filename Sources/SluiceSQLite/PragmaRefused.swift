/// The error when a pragma keeps another value than the given one.
package struct PragmaRefused: Error, Hashable, Sendable {
    package let pragma: Pragma
    /// The actual value; empty if there is none.
    package let actual: String
}
