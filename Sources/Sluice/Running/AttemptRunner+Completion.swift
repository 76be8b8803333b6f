internal import Logging
internal import Synchronization

extension AttemptRunner {
    /// Runs a handler with a completion, until the completion is called or released.
    func complete(_ attempt: Attempt, _ begin: (Completion) -> Void) async -> HandlerResult {
        let cancellation = CancellationRelay()
        let result: HandlerResult = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let completion = Completion(
                    report: { continuation.resume(returning: $0) },
                    onRepetition: { [self] in
                        count { $0.repeatedCompletions += 1 }
                        options.logger.debug("completion called again", metadata: ["action": "\(attempt.id)"])
                    }
                )
                cancellation.connect(completion)
                begin(completion)
            }
        } onCancel: {
            cancellation.cancel()
        }
        if case .threw(let error) = result, error is CompletionDropped {
            count { $0.droppedCompletions += 1 }
            options.logger.debug("completion dropped", metadata: ["action": "\(attempt.id)"])
        }
        return result
    }
}

/// Passes a task's cancellation on to a completion, without retaining it: its release must be noticed.
private final class CancellationRelay: Sendable {
    private struct State {
        weak var completion: Completion?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func connect(_ completion: Completion) {
        let isCancelled = state.withLock { state in
            state.completion = completion
            return state.isCancelled
        }
        if isCancelled { completion.cancel() }
    }

    func cancel() {
        let completion = state.withLock { state in
            state.isCancelled = true
            return state.completion
        }
        completion?.cancel()
    }
}
