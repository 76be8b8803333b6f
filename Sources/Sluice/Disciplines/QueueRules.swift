/// By which rules the actions of a queue start.
package struct QueueRules: Sendable, Hashable {
    package var discipline = QueueDiscipline.firstInFirstOut
    package var start = QueueStart.atOnce

    package init(discipline: QueueDiscipline = .firstInFirstOut, start: QueueStart = .atOnce) {
        self.discipline = discipline
        self.start = start
    }

    /// Those of a queue of which nobody has said anything.
    static let plain = QueueRules()

    /// Whether it runs in batches.
    var isBatched: Bool { start != .atOnce }
}

/// The options of queues, by pattern, and the rules that follow from them.
package struct QueueTable: Sendable {
    private var table = PatternTable<QueueOptions>()
    /// Whether some queues have rules of their own: in most brokers none has.
    private(set) var hasRules = false

    package init() {}

    /// Sets what holds for the queues of a pattern.
    ///
    /// - Throws: ``SluiceError/Code/duplicateQueueOptions`` when it has some, and
    ///   ``SluiceError/Code/invalidOptions``.
    package mutating func add(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        let form = try pattern.formOfRule()
        try options.validate()
        guard table[form] == nil else {
            throw SluiceError(.duplicateQueueOptions, "the queues '\(pattern)' have options already")
        }
        table[form] = options
        hasRules = hasRules || options.discipline != nil || options.start != nil
    }

    /// The options that hold for a queue.
    func options(of queue: QueueName) -> QueueOptions? { table.matches(queue).first { _ in true } }

    /// The discipline of a queue by the most specific pattern that says something of it; `nil` where none
    /// does.
    func saidDiscipline(of queue: QueueName) -> QueueDiscipline? {
        hasRules ? table.matches(queue).lazy.compactMap(\.discipline).first : nil
    }

    /// The rules of a queue: each by the most specific pattern that says something of it.
    package func rules(of queue: QueueName) -> QueueRules {
        guard hasRules else { return .plain }
        let options = Array(table.matches(queue))
        return QueueRules(
            discipline: options.lazy.compactMap(\.discipline).first ?? .firstInFirstOut,
            start: options.lazy.compactMap(\.start).first ?? .atOnce
        )
    }
}
