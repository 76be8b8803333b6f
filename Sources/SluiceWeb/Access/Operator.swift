/// A person who uses the page, and what they may do.
public struct Operator: Sendable, Hashable {
    /// What an operator may do; the server checks it for each request.
    public enum Role: String, Sendable, Hashable, CaseIterable {
        /// Read everything.
        case look
        /// Read, and change everything.
        case act
    }

    /// The name in the audit log.
    public let name: String
    /// What the operator may do.
    public let role: Role

    /// - Parameters:
    ///   - name: The name in the audit log, such as that of the login.
    ///   - role: What the operator may do.
    public init(name: String, role: Role) {
        (self.name, self.role) = (name, role)
    }
}
