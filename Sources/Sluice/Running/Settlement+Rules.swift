/// The settlement of an attempt, from its outcome, the policies and the reason of its cancellation.
extension Settlement {
    init(
        of result: HandlerResult,
        attempt: Attempt,
        cancelledBy reason: CancelReason?,
        options: RouteOptions,
        reader: PayloadReader? = nil,
        using generator: inout any RandomNumberGenerator
    ) {
        switch result {
        case .outcome(let outcome):
            switch outcome.storage {
            case .success, .successWriting:
                self = .success
            case .release(let gate):
                self = .release(after: options.releaseDelay, untilOpen: gate)
            case .lack(let reason, let delay):
                self = .release(after: delay, error: reason)
            case .fail(let reason):
                self = .fail(.failed, options.failure.failed, error: reason)
            case .halt(let reason):
                self = .fail(.failed, mutant("halt") ? options.failure.failed : .block, error: reason)
            case .retry(let delay, let gate):
                self.init(
                    retrying: attempt,
                    after: delay,
                    whenOpen: gate,
                    error: nil,
                    cancelledBy: reason,
                    options,
                    reader,
                    using: &generator
                )
            }
        case .threw(let error):
            self.init(
                retrying: attempt,
                after: nil,
                whenOpen: nil,
                error: error,
                cancelledBy: reason,
                options,
                reader,
                using: &generator
            )
        case .undecodable(let why):
            self = .fail(.undecodable, options.failure.undecodable, error: why)
        }
    }

    private init(
        retrying attempt: Attempt,
        after delay: Duration?,
        whenOpen gate: GateName?,
        error: (any Error)?,
        cancelledBy reason: CancelReason?,
        _ options: RouteOptions,
        _ reader: PayloadReader?,
        using generator: inout any RandomNumberGenerator
    ) {
        let text: String
        switch (reason, error) {
        case (.stop, _):
            self = .stop
            return
        case (.timeout, _): text = "timed out after \(options.timeout ?? .zero)"
        case (_, let error?): text = "\(error)"
        case (_, nil): text = "the handler asked for a retry"
        }
        let failure = AttemptFailure(attempt: attempt, error: error, reader: reader)
        switch options.retry.decision(after: failure, using: &generator) {
        case .retry(let policyDelay): self = .retry(after: delay ?? policyDelay, untilOpen: gate, error: text)
        case .giveUp: self = .fail(.exhausted, options.failure.exhausted, error: text)
        case .halt: self = .fail(.failed, .block, error: text)
        }
    }
}
