#if CommandLineTool
internal import Sluice

/// A retry policy that gives a command the delay that it asks for.
struct CommandRetry: RetryPolicy {
    let base: any RetryPolicy

    func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision {
        let decision = base.decision(after: failure, using: &generator)
        guard case .retry = decision, let delay = (failure.error as? CommandEnded)?.delay else {
            return decision
        }
        return .retry(after: delay)
    }
}
#endif
