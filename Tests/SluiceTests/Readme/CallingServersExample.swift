import Sluice

// As in the guide "Calling a server", with which a test compares it.
/// The token that requests carry; each login makes a new one.
actor Session {
    private var current = (number: 0, token: "")

    func token() -> (number: Int, token: String) { current }
    func isCurrent(_ number: Int) -> Bool { number == current.number }
    func renewed(_ token: String) { current = (current.number + 1, token) }
}

func route(
    _ broker: Broker,
    _ session: Session,
    send: @escaping @Sendable (SendMessage, _ token: String) async throws -> Int
) throws {
    try broker.route("conversation/*", SendMessage.self, RouteOptions(gates: ["login"])) { message, _ in
        let (number, token) = await session.token()
        let status = try await send(message, token)
        guard status == 401 else { return status == 200 ? .success : .retry }
        // A late answer to an old token closes nothing: the next attempt has the new one.
        guard await session.isCurrent(number) else { return .release(after: .seconds(1)) }
        return .release(after: .seconds(300), closing: "login", because: "HTTP 401")
    }
}

/// Logs in at once, and again each time that an answer 401 has closed the gate.
///
/// - Parameter logIn: Returns a token; `nil` if the login has failed.
func keepLoggedIn(
    _ broker: Broker,
    _ session: Session,
    logIn: @escaping @Sendable () async -> String?
) async throws {
    func renew() async throws {
        guard let token = await logIn() else { return }
        await session.renewed(token)
        try await broker.openGate("login", isPersistent: true)
        // The actions that got the answer 401 wait for the five minutes themselves.
        let waiting = try await broker.statuses(matching: "conversation/*", in: [.retry]).map(\.queue)
        try await broker.retryNow(queues: waiting)
    }

    // Before the first login, so that no closing is missed.
    let events = broker.events()
    try await renew()
    // In a new file the gate is closed. If the login has failed, an answer 401 starts the next one.
    let isKnown = try await broker.gates().contains { $0.name == "login" }
    if !isKnown { try await broker.openGate("login", isPersistent: true) }
    for await observed in events {
        // A gap of missed events may hide a closing.
        if case .event(let event) = observed, event.kind != .gateClosed || event.gate != "login" { continue }
        try await renew()
    }
}
