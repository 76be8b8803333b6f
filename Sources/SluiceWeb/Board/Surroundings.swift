#if Web
internal import Synchronization

/// Facts about a store besides its queues, read every few seconds: pages are made from memory.
final class Surroundings: Sendable {
    struct Facts: Sendable {
        /// `nil` before the first read.
        var runners: [RunnerFact]?
        var sizes: [(name: String, value: String)] = []
        var holdCount = 0
        /// `nil` if nobody counts the dead letters.
        var letterCount: Int?
        /// Why they may be old.
        var error: String?
    }

    private let memory = Mutex(Facts())

    var facts: Facts { memory.withLock { $0 } }

    func set(_ facts: Facts) { memory.withLock { $0 = facts } }

    func fail(_ error: String) { memory.withLock { $0.error = error } }
}
#endif
