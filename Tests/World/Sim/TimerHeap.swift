/// What is due at which time; what is due at the same time in the order in which it was added.
struct TimerHeap {
    final class Entry {
        let time: Duration
        let number: Int
        private var body: (() -> Void)?

        init(time: Duration, number: Int, _ body: @escaping () -> Void) {
            (self.time, self.number, self.body) = (time, number, body)
        }

        var isCancelled: Bool { body == nil }
        func cancel() { body = nil }

        func fire() {
            let body = body
            self.body = nil
            body?()
        }

        fileprivate func isBefore(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
    }

    private var entries: [Entry] = []
    /// How many were ever added.
    private(set) var count = 0

    var nextTime: Duration? {
        mutating get {
            while let first = entries.first, first.isCancelled { _ = removeFirst() }
            return entries.first?.time
        }
    }

    mutating func add(_ entry: Entry) {
        count += 1
        entries.append(entry)
        var index = entries.count - 1
        while index > 0, entries[index].isBefore(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes the next one.
    mutating func next() -> Entry? { nextTime == nil ? nil : removeFirst() }

    private mutating func removeFirst() -> Entry {
        entries.swapAt(0, entries.count - 1)
        let first = entries.removeLast()
        var index = 0
        while 2 * index + 1 < entries.count {
            var least = 2 * index + 1
            if least + 1 < entries.count, entries[least + 1].isBefore(entries[least]) { least += 1 }
            guard entries[least].isBefore(entries[index]) else { break }
            entries.swapAt(least, index)
            index = least
        }
        return first
    }
}
