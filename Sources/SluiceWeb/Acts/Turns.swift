#if Web
internal import Synchronization

/// Runs acts that check something first, one after the other: a second operator sees the first one's change.
final class Turns: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    func take<Output: Sendable>(_ act: @escaping @Sendable () async throws -> Output) async throws -> Output {
        let task = last.withLock { last in
            let earlier = last
            let task = Task {
                await earlier?.value
                return try await act()
            }
            last = Task { _ = await task.result }
            return task
        }
        return try await task.value
    }
}
#endif
