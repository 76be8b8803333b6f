/// The rules by which the actions of a queue start.
package struct QueueRules: Sendable, Hashable {
    package var discipline = QueueDiscipline.firstInFirstOut
    package var start = QueueStart.atOnce

    package init(discipline: QueueDiscipline = .firstInFirstOut, start: QueueStart = .atOnce) {
        self.discipline = discipline
        self.start = start
    }

    /// The rules of a queue without options.
    static let plain = QueueRules()

    /// Whether it runs in batches.
    var isBatched: Bool { start != .atOnce }
}
