internal import Synchronization

/// What has happened, in order, for a test that waits for it instead of sleeping.
public final class EventLog<Element: Sendable>: Sendable {
    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<[Element], Never>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Waiter] = []
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
            let count = state.elements.count
            let ready = state.waiters.filter { $0.count <= count }
            state.waiters.removeAll { $0.count <= count }
            return (state.elements, ready)
        }
        for waiter in ready { waiter.continuation.resume(returning: elements) }
    }

    /// Returns everything so far once there are as many elements.
    public func wait(forCount count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let elements = state.withLock { state -> [Element]? in
                if state.elements.count >= count { return state.elements }
                state.waiters.append(Waiter(count: count, continuation: continuation))
                return nil
            }
            if let elements { continuation.resume(returning: elements) }
        }
    }
}
