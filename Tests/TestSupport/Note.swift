package import Sluice
package import SluiceTestKit

/// The action that most tests enqueue.
package struct Note: Action {
    package static let kind = "note"
    package var queue: QueueName
    package var text: String
    package var order: SortKey = .arrival
    package var sortKey: SortKey { order }

    package init(_ text: String, in queue: QueueName = "notes", order: SortKey = .arrival) {
        self.queue = queue
        self.text = text
        self.order = order
    }

    // Queue and order stand in columns, not in the payload.
    private enum CodingKeys: String, CodingKey { case text }

    package init(from decoder: any Decoder) throws {
        self.init(try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(text, forKey: .text)
    }
}

/// How long tests wait for a lock that somebody is about to give up; their time limits are shorter.
package let patience = Duration.seconds(600)

extension BrokerOptions {
    /// The defaults, on a clock of the test's.
    ///
    /// But for the lock timeout, which SQLite takes by the machine's time: a test that holds the lock gives
    /// it up when it gets its turn, and on a busy machine hundreds of tests may have theirs before.
    package static func on(_ clock: ManualClock, concurrency: Int = 64) -> BrokerOptions {
        var options = BrokerOptions()
        options.file.lockTimeout = patience
        // Tests hold the lock by connections of their own.
        options.clock = clock
        options.concurrency = concurrency
        return options
    }
}
