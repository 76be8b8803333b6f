import SluiceTestKit
import Synchronization

@testable import Sluice

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

/// How long tests wait for a lock that somebody is about to give up; their time limits are shorter.
let patience = Duration.seconds(600)

extension BrokerOptions {
    /// The defaults, on a clock of the test's.
    ///
    /// But for the lock timeout, which SQLite takes by the machine's time: a test that holds the lock gives
    /// it up when it gets its turn, and on a busy machine hundreds of tests may have theirs before.
    static func on(_ clock: ManualClock, concurrency: Int = 64) -> BrokerOptions {
        var options = BrokerOptions()
        options.file.lockTimeout = patience
        // Tests hold the lock by connections of their own.
        options.clock = clock
        options.concurrency = concurrency
        return options
    }

    /// Has a broker of the test's stand for a process of its own, beside others on one file.
    ///
    /// All of them have one start of the machine in common, and each has a pid namespace of its own, so that
    /// none can tell another dead.
    mutating func standFor(process pid: Int64) {
        file.identity = ProcessIdentity(pid: pid, mark: "machine namespace-\(pid) start")
        file.sharesFile = true
    }
}

/// Runs a broker while `body` is at work, and stops it behind that.
func running<Output: Sendable>(
    _ broker: Broker,
    _ body: @Sendable () async throws -> Output
) async throws -> Output {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await broker.run() }
        do {
            // A stop before the start would stop nothing.
            try await until { broker.life.withLock { $0.state != .idle || $0.hasThrown } }
            let output = try await body()
            await broker.stop(grace: .zero)
            try await group.waitForAll()
            return output
        } catch {
            await broker.stop(grace: .zero)
            try await group.waitForAll()
            throw error
        }
    }
}
