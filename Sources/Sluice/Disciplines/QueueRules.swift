internal import Synchronization

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

/// The rules of queues, by pattern, as options and routes give them.
package final class QueueRuleBook: Sendable {
    private struct Entry: Sendable {
        var discipline: QueueDiscipline?
        var start: QueueStart?
    }

    private let table = Mutex(PatternTable<Entry>())
    /// Read for each claim; in most brokers no queue has rules of its own.
    private let hasEntries = Atomic(false)

    package init() {}

    /// Whether no queue has rules of its own.
    var isEmpty: Bool { !hasEntries.load(ordering: .acquiring) }

    /// Sets the rules of the queues of a pattern, as far as they are given.
    ///
    /// - Throws: ``SluiceError/Code/invalidOptions`` when the pattern has others.
    func add(
        _ form: QueuePattern.Form,
        _ discipline: QueueDiscipline?,
        _ start: QueueStart?
    ) throws(SluiceError) {
        try discipline?.validate()
        try start?.validate()
        guard discipline != nil || start != nil else { return }
        try table.withLock { table throws(SluiceError) in
            var entry = table[form] ?? Entry()
            if let known = entry.discipline, let discipline, known != discipline {
                throw SluiceError(
                    .invalidOptions,
                    "the queues of \(form.text) have one discipline: \(known) was given, and now "
                        + "\(discipline)"
                )
            }
            if let known = entry.start, let start, known != start {
                throw SluiceError(
                    .invalidOptions,
                    "the queues of \(form.text) start in one way: \(known) was given, and now \(start)"
                )
            }
            entry.discipline = discipline ?? entry.discipline
            entry.start = start ?? entry.start
            table[form] = entry
        }
        hasEntries.store(true, ordering: .releasing)
    }

    /// The discipline of a queue by the most specific pattern that says something of it; `nil` where none
    /// does.
    func saidDiscipline(of queue: QueueName) -> QueueDiscipline? {
        guard !isEmpty else { return nil }
        return table.withLock { $0.matches(queue).lazy.compactMap(\.discipline).first }
    }

    /// The rules of a queue: each by the most specific pattern that says something of it.
    package func rules(of queue: QueueName) -> QueueRules {
        guard !isEmpty else { return .plain }
        return table.withLock { table in
            var rules = QueueRules.plain
            let entries = Array(table.matches(queue))
            if let discipline = entries.lazy.compactMap(\.discipline).first { rules.discipline = discipline }
            if let start = entries.lazy.compactMap(\.start).first { rules.start = start }
            return rules
        }
    }
}

extension QueuePattern.Form {
    /// The pattern as it is written.
    fileprivate var text: String {
        switch self {
        case .exact(let name): "'\(name)'"
        case .prefix(let bytes): "'\(String(decoding: bytes, as: UTF8.self))*'"
        }
    }
}
