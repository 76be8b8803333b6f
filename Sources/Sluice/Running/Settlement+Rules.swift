/// The settlement of an attempt, from its outcome, the policies and the reason of its cancellation.
extension Settlement {
    /// How long an action waits that no route has taken.
    static let declinedDelay: Duration = .seconds(60)

    init(
        of result: HandlerResult,
        attempt: Attempt,
        cancelledBy reason: CancelReason?,
        options: RouteOptions,
        reader: PayloadReader? = nil,
        using generator: inout any RandomNumberGenerator
    ) {
        // The retry policy decides on a handler that threw or asked for a retry.
        func tried(
            _ error: (any Error)?,
            after delay: Duration? = nil,
            whenOpen gate: GateName? = nil,
            closes: Bool = false,
            because why: String? = nil
        ) -> Settlement {
            let text: String
            switch (reason, error) {
            case (.stop, _): return .stop
            case (.timeout, _): text = "timed out after \(options.timeout ?? .zero)"
            case (_, let error?): text = "\(error)"
            case (_, nil): text = why ?? "the handler asked for a retry"
            }
            let failure = AttemptFailure(attempt: attempt, error: error, reader: reader)
            switch options.retry.decision(after: failure, using: &generator) {
            case .retry(let policyDelay):
                return .retry(after: delay ?? policyDelay, untilOpen: gate, closes: closes, error: text)
            case .giveUp: return .fail(.exhausted, options.failure.exhausted, error: text)
            case .halt: return .fail(.failed, .block, error: text)
            }
        }
        switch result {
        case .outcome(let outcome):
            switch outcome.storage {
            case .success, .successWriting: self = .success
            case .release(let asked, let gate, let closes, let reason):
                let delay = asked ?? options.releaseDelay
                self = .release(after: delay, untilOpen: gate, closes: closes, error: reason)
            case .fail(let reason): self = .fail(.failed, options.failure.failed, error: reason)
            case .halt(let reason):
                self = .fail(.failed, mutant("halt") ? options.failure.failed : .block, error: reason)
            case .retry(let delay, let gate, let closes, let why):
                self = tried(nil, after: delay, whenOpen: gate, closes: closes, because: why)
            // No route has taken it; a cancelled attempt was not passed on.
            case .declined where reason == nil:
                let delay = max(options.releaseDelay, Self.declinedDelay)
                self = .release(after: delay, error: "every route answered that the action is not its own")
            case .declined: self = tried(nil, after: nil, whenOpen: nil)
            }
        case .threw(let error): self = tried(error)
        case .undecodable(let why): self = .fail(.undecodable, options.failure.undecodable, error: why)
        }
    }
}
