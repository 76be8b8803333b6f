/// The name of a group of actions in one queue: one action starts it, others are members (<doc:Disciplines>).
///
/// It has 1 to 255 bytes of UTF-8 and no NUL, by which names are compared, and is checked when it is used.
public struct GroupName: CheckedName {
    /// The most bytes of UTF-8 that a name can have.
    public static let maximumByteCount = 255
    /// The name as given.
    public let rawValue: String
    /// Makes a name; it is checked when it is used.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    func validate() throws(SluiceError) { try validate(.invalidOptions, "group") }
}
