/// The name of a gate: a condition such as `network` or `account:42` that is open or closed.
///
/// It has 1 to 255 bytes of UTF-8 and no NUL, by which names are compared, as in SQLite. It can be a literal
/// and is checked when it is used: ``SluiceError/Code/invalidGate``.
public struct GateName: CheckedName {
    /// The most bytes of UTF-8 that a name can have.
    public static let maximumByteCount = 255
    /// The name as given.
    public let rawValue: String
    /// Makes a name; it is checked when it is used.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    package func validate() throws(SluiceError) { try validate(.invalidGate, "gate") }
    var isValid: Bool { (try? validate()) != nil }
}
