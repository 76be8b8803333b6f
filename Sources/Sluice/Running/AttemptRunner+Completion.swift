internal import Logging
internal import Synchronization

extension AttemptRunner {
    /// Runs a handler with a completion, until the completion is called or released.
    func complete(_ attempt: Attempt, _ begin: (Completion) -> Void) async -> HandlerResult {
        let cancellation = Mutex(CompletionCancellation())
        let result: HandlerResult = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let completion = Completion(
                    report: { continuation.resume(returning: $0) },
                    onRepetition: { [self] in
                        count { $0.repeatedCompletions += 1 }
                        options.logger.debug("completion called again", metadata: ["action": "\(attempt.id)"])
                    }
                )
                let isCancelled = cancellation.withLock { state in
                    state.completion = completion
                    return state.isCancelled
                }
                if isCancelled { completion.cancel() }
                begin(completion)
            }
        } onCancel: {
            let completion = cancellation.withLock { state in
                state.isCancelled = true
                return state.completion
            }
            completion?.cancel()
        }
        if case .threw(let error) = result, error is CompletionDropped {
            count { $0.droppedCompletions += 1 }
            options.logger.debug("completion dropped", metadata: ["action": "\(attempt.id)"])
        }
        return result
    }
}

/// The cancellation of a task, for a completion that it does not retain: its release must be noticed.
private struct CompletionCancellation {
    weak var completion: Completion?
    var isCancelled = false
}
