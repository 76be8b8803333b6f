/// The end of a handler's run.
enum HandlerResult: Sendable {
    case outcome(Outcome)
    case threw(any Error)
    /// The payload is not of the route's type; with the reason, without the payload.
    case undecodable(String)

    var isDeclined: Bool {
        if case .outcome(let outcome) = self, case .declined = outcome.storage { true } else { false }
    }
}
