#if Web
/// An error of the page: why it does not start, or why a request is refused.
public struct PageError: Error, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Hashable {
        /// An option, or a field of a form, is wrong.
        case invalid
        /// Nobody has logged in.
        case notAuthenticated
        /// The operator may only look, or the request is from another site.
        case refused
        /// There is no such page, action, dead letter or job.
        case notFound
        /// The request does not fit the present state of the file.
        case conflict
    }

    /// The kind of error.
    public let code: Code
    /// The error, and what to do.
    public let message: String

    init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// The message.
    public var description: String { message }
}
#endif
