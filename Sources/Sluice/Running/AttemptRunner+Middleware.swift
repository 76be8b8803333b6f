extension AttemptRunner {
    /// Runs a handler inside the middleware, whose errors count as the handler's.
    func performInMiddleware(
        _ action: ClaimedAction,
        _ attempt: Attempt,
        _ route: Route,
        _ task: AttemptTask
    ) async -> Settlement {
        let context = AttemptContext(action, attempt, route.pattern) { [self] result in
            let reason = task.reason
            return AttemptResult(
                settlement(for: result, of: attempt, cancelledBy: reason, route.options),
                isCancelled: reason == .removal
            )
        }
        do {
            return try await pass(options.middleware[...], context) {
                await route.perform(action, attempt)
            }.settlement
        } catch {
            return context.result(of: .threw(error)).settlement
        }
    }

    /// Calls the remaining middleware, the outermost first.
    private func pass(
        _ rest: ArraySlice<any Middleware>,
        _ context: AttemptContext,
        _ perform: @escaping @Sendable () async -> HandlerResult
    ) async throws -> AttemptResult {
        guard let first = rest.first else { return context.result(of: await perform()) }
        let next = NextAttempt { try await self.pass(rest.dropFirst(), context, perform) }
        return try await first.attempt(context, next: next)
    }
}
