import Dispatch
import Foundation

/// A thread of the system, which runs when it is handed the world and at no other time.
// What it has is used by the thread that runs.
final class Strand: @unchecked Sendable {
    private let turn = DispatchSemaphore(value: 0)
    var job: (() -> Void)?
    /// Whose job it is at.
    var process: SimulatedProcess?

    func start(_ body: @escaping () -> Void) {
        let life = Life(body)
        let thread = Thread { life.body() }
        thread.stackSize = 1_024 * 1_024
        thread.start()
    }

    // Handed to the thread once.
    private struct Life: @unchecked Sendable {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    func wake() { turn.signal() }
    func sleep() { turn.wait() }
}
