internal import Synchronization

/// Runs the copies of the file that are being made, each on a connection of its own.
final class Backups: Sendable {
    private struct State {
        var count = 0
        /// Why no copy is made now, and why current ones must end.
        var refusal: SluiceError?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let queue: any WorkQueue

    init(_ engine: EngineContext) { queue = engine.queue("sluice.backup", isUrgent: false) }

    /// Makes a copy on a thread that may block, unless copies are refused.
    func perform(
        _ copy: @escaping @Sendable (_ goOn: () throws(SluiceError) -> Void) throws -> Void
    ) async throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            if let refusal = state.refusal { throw refusal }
            state.count += 1
        }
        let result = await queue.run {
            Result { try copy(self.ensure) }.mapError { SluiceError(wrapping: $0, doing: "copying the file") }
        }
        let waiters = state.withLock { state in
            state.count -= 1
            defer { if state.count == 0 { state.waiters = [] } }
            return state.count == 0 ? state.waiters : []
        }
        for waiter in waiters { waiter.resume() }
        try result.get()
    }

    /// Refuses copies, and returns when current ones have ended.
    func end(_ refusal: SluiceError) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.refusal = refusal
                if state.count > 0 { state.waiters.append(continuation) }
                return state.count == 0
            }
            if isOver { continuation.resume() }
        }
    }

    func allow() { state.withLock { $0.refusal = nil } }

    private func ensure() throws(SluiceError) {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }
}
