#if Web
/// Where a request comes from: of ``OperatorServer`` alone, as a mounted page does not know it.
struct Caller: Sendable {
    /// The address of the connection, which is a proxy's if there is one.
    let address: String
    /// What a proxy says of the browser's address; anybody can send it, so it is for logs alone.
    let forwardedFor: String?
    /// Keeps the connection's place from those without a login.
    let know: @Sendable (_ holder: String) -> Void

    /// That of the request which the task answers.
    @TaskLocal static var current: Caller?

    /// For the log.
    var description: String { forwardedFor.map { "\(address), forwarded for \($0)" } ?? address }
}
#endif
