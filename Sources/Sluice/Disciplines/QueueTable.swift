/// The options of queues, by pattern, and their rules.
package struct QueueTable: Sendable {
    private var table = PatternTable<QueueOptions>()
    /// Whether some queues have or had rules of their own; in most brokers none has.
    private(set) var hasRules = false
    /// Whether some queues have a default expiry.
    private var hasExpiries = false
    package init() {}

    /// Sets the options for the queues of a pattern; throws and changes nothing when it has some.
    package mutating func add(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        let form = try pattern.formOfRule()
        try options.validate()
        guard table[form] == nil else {
            throw SluiceError(.duplicateQueueOptions, "the queues '\(pattern)' have options already")
        }
        table[form] = options
        hasRules = hasRules || options.discipline != nil || options.start != nil
        hasExpiries = hasExpiries || options.expiresAfter != nil
    }

    /// The options of the most specific pattern, with the expiry of the most specific one that sets it.
    func options(of queue: QueueName) -> QueueOptions? {
        var options = table.firstMatch(of: queue) { $0 }
        if hasExpiries { options?.expiresAfter = table.firstMatch(of: queue, \.expiresAfter) }
        return options
    }

    /// Removes the options of a pattern, and returns them.
    mutating func remove(_ pattern: QueuePattern) throws(SluiceError) -> QueueOptions? {
        let form = try pattern.formOfRule()
        defer { table[form] = nil }
        return table[form]
    }

    /// A queue's discipline by the most specific pattern that sets one.
    func saidDiscipline(of queue: QueueName) -> QueueDiscipline? {
        hasRules ? table.firstMatch(of: queue, \.discipline) : nil
    }

    /// The rules of a queue, each by the most specific pattern that sets it.
    package func rules(of queue: QueueName) -> QueueRules {
        guard hasRules else { return .plain }
        return QueueRules(
            discipline: table.firstMatch(of: queue, \.discipline) ?? .firstInFirstOut,
            start: table.firstMatch(of: queue, \.start) ?? .immediately
        )
    }
}
