internal import Synchronization

/// What has happened, in order, for a test that waits for it instead of sleeping.
public final class EventLog<Element: Sendable>: Sendable {
    private typealias Answer = Result<[Element], CancellationError>

    private struct Waiter {
        let isEnough: @Sendable ([Element]) -> Bool
        let continuation: CheckedContinuation<Answer, Never>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Int: Waiter] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    /// Makes an empty log.
    public init() {}

    /// Everything so far, in order.
    public var elements: [Element] { state.withLock { $0.elements } }

    /// Adds an element, and lets those go on who waited for it.
    public func append(_ element: Element) {
        let (elements, ready) = state.withLock { state in
            state.elements.append(element)
            let ready = state.waiters.filter { $0.value.isEnough(state.elements) }
            for number in ready.keys { state.waiters[number] = nil }
            return (state.elements, ready.values)
        }
        for waiter in ready { waiter.continuation.resume(returning: .success(elements)) }
    }

    /// Returns everything so far once there are as many elements.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before, as by a test's time limit: what a
    ///   test waits for in vain does not hang the run.
    public func wait(forCount count: Int) async throws(CancellationError) -> [Element] {
        try await wait { $0.count >= count }
    }

    /// Returns everything so far once that is enough.
    ///
    /// - Parameter isEnough: Asked at once, and then for each element; it must not block.
    /// - Throws: `CancellationError` when the task is cancelled before.
    public func wait(
        until isEnough: @escaping @Sendable ([Element]) -> Bool
    ) async throws(CancellationError) -> [Element] {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Answer? in
                    if isEnough(state.elements) { return .success(state.elements) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[number] = Waiter(isEnough: isEnough, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            // The task counts as cancelled by now: a waiter that is not here yet will not wait.
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation
                .resume(returning: .failure(CancellationError()))
        }.get()
    }
}
