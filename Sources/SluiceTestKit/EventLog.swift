internal import Synchronization

/// A log of events in order, for a test that waits for one instead of sleeping.
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

    /// Adds an element, and resumes the callers that waited for it.
    public func append(_ element: Element) {
        let (elements, ready) = state.withLock { state in
            state.elements.append(element)
            let ready = state.waiters.filter { $0.value.isEnough(state.elements) }
            for number in ready.keys { state.waiters[number] = nil }
            return (state.elements, ready.values)
        }
        for waiter in ready { waiter.continuation.resume(returning: .success(elements)) }
    }

    /// Waits until there are as many elements, and returns all.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first, such as by a test's time limit, so
    ///   that a failing test does not hang.
    public func wait(forCount count: Int) async throws(CancellationError) -> [Element] {
        try await wait { $0.count >= count }
    }

    /// Waits until a condition is met, and returns all elements.
    ///
    /// - Parameter isEnough: Called at once, and then for each element; it must not block.
    /// - Throws: `CancellationError` when the task is cancelled first.
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
            // The task is already cancelled, so a waiter that is not registered yet will not wait.
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation
                .resume(returning: .failure(CancellationError()))
        }.get()
    }
}
