internal import Dispatch
package import SluiceTestKit

/// A log of nothing is a signal: a handler waits for it, and a test lets it happen; it goes on counting.
extension EventLog where Element == Void {
    /// Lets those go on who wait for the next signal.
    package func send() { append(()) }

    /// Returns at the first signal, or at a later one; throws when the task is cancelled.
    package func received(_ count: Int = 1) async throws(CancellationError) {
        _ = try await wait(forCount: count)
    }

    /// Returns at the first signal, or at a later one, in a handler that does not heed its cancellation.
    ///
    /// A test that uses it sends the signal also when it fails (`defer`), else the run would hang.
    package func receivedInAnyCase(_ count: Int = 1) async {
        // A task of its own, which nobody cancels.
        _ = await Task { try await wait(forCount: count) }.result
    }
}

/// Returns when a condition holds that no event tells of; throws when the task is cancelled.
///
/// It gives its thread away between two looks, and soon looks once a millisecond, so that the tests beside it
/// have the processor. If the condition never holds, ``Watched`` ends the run.
package func until(_ condition: () async throws -> Bool) async throws {
    var looks = 0
    while try await !condition() {
        try Task.checkCancellation()
        looks += 1
        if looks <= 100 { await Task.yield() } else { await millisecond() }
    }
}

private func millisecond() async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
    }
}

/// Waits until the task is cancelled, and throws then.
package func untilCancelled() async throws {
    try await ManualClock().sleep(untilUptime: .seconds(1))
}

/// An error with a text that tests look for.
package struct TestError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
