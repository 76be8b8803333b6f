internal import Foundation

/// Runs on a thread of its own what blocks, or goes round and round.
///
/// Swift's pool has as many threads as there are cores, and begins no other for one that waits: on two cores,
/// two tests that each keep one of them keep all tasks from their turns, and so what would end the wait.
package func onOwnThread<Output: Sendable>(
    _ body: @escaping @Sendable () throws -> Output
) async throws -> Output {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
