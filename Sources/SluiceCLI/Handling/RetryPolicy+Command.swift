#if CommandLineTool
internal import Sluice

extension RetryPolicy {
    /// The same policy, except that a command gets the delay that it asks for.
    var withDelaysOfCommands: RetryPolicy {
        RetryPolicy { failure, generator in
            let decision = decision(after: failure, using: &generator)
            guard case .retry = decision, let delay = (failure.error as? CommandEnded)?.delay else {
                return decision
            }
            return .retry(after: delay)
        }
    }
}
#endif
