#if Web
public import struct HTTPTypes.HTTPRequest

/// Finds out who sends a request, such as from a header that a proxy sets or from a session's cookie.
public protocol Authenticator: Sendable {
    /// Returns who sends a request; `nil` answers 401.
    ///
    /// It is called for each request. An error that it throws is answered with 500, and logged.
    func authenticate(_ request: HTTPRequest) async throws -> Operator?
}
#endif
