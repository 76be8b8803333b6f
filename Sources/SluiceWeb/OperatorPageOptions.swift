#if Web
public import Logging
public import Sluice

/// Options of an ``OperatorPage``.
public struct OperatorPageOptions: Sendable {
    /// The path that the page is under, such as `/ops`; empty for the root.
    public var prefix = ""
    /// The name in the title, such as that of the file.
    public var title = "Queues"
    /// Whether every operator may only look, whatever their role.
    public var isReadOnly = false
    /// Who may use the page.
    public var access: PageAccess
    /// The names by which browsers reach the page, without ports, besides `localhost` and addresses.
    ///
    /// Requests that name another host are refused: another site could have given its own name this address.
    public var hosts: [String] = []
    /// Facts that the broker itself does not have.
    public var facts: (any StoreFacts)?
    /// Opens the store again after its file was replaced, and closes the earlier broker; `nil` if nobody can.
    package var reopen: (@Sendable () async throws -> Broker)?
    /// The clock of live updates and of rates.
    public var clock: any BrokerClock = SystemClock()
    /// Gets each act with who did it, and errors; never payloads (G13).
    public var logger = Logger(label: "sluice.web")

    /// Makes the default options.
    ///
    /// - Parameter access: Who may use the page; there is no default, as whoever may can remove every action.
    public init(access: PageAccess) { self.access = access }
}
#endif
