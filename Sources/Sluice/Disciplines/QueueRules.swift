/// The rules by which the actions of a queue start.
package struct QueueRules: Sendable, Hashable {
    package var discipline = QueueDiscipline.firstInFirstOut
    package var start = QueueStart.immediately
    static let plain = QueueRules()
    var isBatched: Bool { start != .immediately }
}
