import Sluice
import SluiceTestKit

/// Something that a handler waits for and a test lets happen; it goes on counting.
typealias Signal = EventLog<Void>

extension EventLog where Element == Void {
    /// Lets those go on who wait for the next signal.
    func send() { append(()) }

    /// Returns at the first signal, or at a later one; a cancellation changes nothing.
    func received(_ count: Int = 1) async { _ = await wait(forCount: count) }
}

/// Returns when a condition holds that no event tells of.
///
/// It gives its thread away between two looks. If the condition never holds, the suite's time limit says so.
func until(_ condition: () async throws -> Bool) async rethrows {
    while try await !condition() { await Task.yield() }
}

/// Waits until the task is cancelled, and throws then.
func untilCancelled() async throws {
    try await ManualClock().sleep(untilUptime: .seconds(1))
}

/// An error with a text that tests look for.
struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
