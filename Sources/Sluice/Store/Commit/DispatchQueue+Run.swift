internal import Dispatch

extension DispatchQueue {
    /// Runs work on the queue, and returns its result.
    func run<Output: Sendable>(_ work: @escaping @Sendable () -> Output) async -> Output {
        await withCheckedContinuation { continuation in
            self.async { continuation.resume(returning: work()) }
        }
    }
}
