import Sluice
import SluiceTestKit

/// The action that most tests enqueue.
struct Note: Action {
    static let kind = "note"
    var queue: QueueName
    var text: String
    var order: SortKey = .arrival
    var sortKey: SortKey { order }

    init(_ text: String, in queue: QueueName = "notes", order: SortKey = .arrival) {
        self.queue = queue
        self.text = text
        self.order = order
    }

    // Queue and order stand in columns, not in the payload.
    private enum CodingKeys: String, CodingKey { case text }

    init(from decoder: any Decoder) throws {
        self.init(try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(text, forKey: .text)
    }
}

extension BrokerOptions {
    /// The defaults, on a clock of the test's.
    static func on(_ clock: ManualClock, concurrency: Int = 64) -> BrokerOptions {
        var options = BrokerOptions()
        options.clock = clock
        options.concurrency = concurrency
        return options
    }
}

/// Runs a broker while `body` is at work, and stops it behind that.
func running<Output: Sendable>(
    _ broker: Broker,
    _ body: @Sendable () async throws -> Output
) async throws -> Output {
    async let run: Void = broker.run()
    do {
        let output = try await body()
        await broker.stop(grace: .zero)
        try await run
        return output
    } catch {
        await broker.stop(grace: .zero)
        try await run
        throw error
    }
}
