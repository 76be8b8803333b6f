internal import Synchronization

/// Reports the outcome of an attempt, once.
///
/// If it is released without having been called, the attempt counts as one that threw ``CompletionDropped``.
/// A second call changes nothing: it is counted in ``Statistics/repeatedCompletions`` and logged.
public final class Completion: Sendable {
    private struct State {
        var report: (@Sendable (HandlerResult) -> Void)?
        var isCancelled = false
        var onCancel: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>
    private let onRepetition: @Sendable () -> Void

    init(report: @escaping @Sendable (HandlerResult) -> Void, onRepetition: @escaping @Sendable () -> Void) {
        state = Mutex(State(report: report))
        self.onRepetition = onRepetition
    }

    deinit { finish(.threw(CompletionDropped())) }

    /// Ends the attempt with an outcome.
    public func callAsFunction(_ outcome: Outcome) { if !finish(.outcome(outcome)) { onRepetition() } }

    /// Ends the attempt with success, with a retry after a time, or by parking the queue.
    ///
    /// - Parameters:
    ///   - success: Whether the action is done.
    ///   - retryTimeout: If it is not, how long it waits for the next attempt, and its queue with it; zero is
    ///     at once. `nil` and negative values are ``Outcome/halt(_:)``: until ``Broker/retryNow(_:)``.
    public func callAsFunction(success: Bool, retryTimeout: Duration?) {
        if success { return callAsFunction(.success) }
        guard let retryTimeout, retryTimeout >= .zero else {
            return callAsFunction(.halt("paused by its handler"))
        }
        callAsFunction(mutant("retry timeout") ? .retry : .retry(after: retryTimeout))
    }

    /// Ends the attempt as one that threw.
    public func callAsFunction(throwing error: any Error) { if !finish(.threw(error)) { onRepetition() } }

    /// Whether the attempt was cancelled: by its timeout, a stop of the broker, or a cancelled action.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Calls `action` when the attempt is cancelled, at once if it has been.
    ///
    /// Only the last closure counts. It must hold the completion weakly: else its release goes unnoticed.
    public func onCancel(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            guard !state.isCancelled else { return true }
            if state.report != nil { state.onCancel = action }
            return false
        }
        if isLate { action() }
    }

    func cancel() {
        let action = state.withLock { state in
            state.isCancelled = true
            defer { state.onCancel = nil }
            return state.onCancel
        }
        action?()
    }

    /// Reports a result, unless one has been reported; returns whether it did.
    @discardableResult
    private func finish(_ result: HandlerResult) -> Bool {
        let report = state.withLock { state in
            defer {
                if !mutant("completion once") { state.report = nil }
                state.onCancel = nil
            }
            return state.report
        }
        report?(result)
        return report != nil
    }
}
