import Synchronization
import TestSupport

/// Hands elements to one who takes them, in order; what has been taken is forgotten.
///
/// For tests with so many events that an ``EventLog`` would hold them all.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var taker: CheckedContinuation<Result<Element, any Error>, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())

    func put(_ element: Element) {
        let taker = state.withLock { state in
            defer { state.taker = nil }
            if state.taker == nil { state.elements.append(element) }
            return state.taker
        }
        taker?.resume(returning: .success(element))
    }

    /// There will be no further element: who waits, or comes later, gets an error.
    func close() {
        let taker = state.withLock { state in
            state.isClosed = true
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume(returning: .failure(TestError("there will be no answer")))
    }

    /// The next element, when it is there; one task at a time may wait.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before, as by a test's time limit.
    func take() async throws -> Element {
        try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Result<Element, any Error>? in
                    if !state.elements.isEmpty { return .success(state.elements.removeFirst()) }
                    if state.isClosed { return .failure(TestError("there will be no answer")) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.taker = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            // The task counts as cancelled by now: a taker that is not here yet will not wait.
            let taker = state.withLock { state in
                defer { state.taker = nil }
                return state.taker
            }
            taker?.resume(returning: .failure(CancellationError()))
        }.get()
    }
}
