import Sluice
import SluicePostgres
import Synchronization

/// The time from the commit of an enqueue, as its caller hears of it, to the start of its handler in another
/// broker.
struct Latency {
    let count: Int
    /// Enqueues a second.
    let rate: Int

    /// Writes the times in milliseconds, a line each, in the order of the enqueues.
    func run(_ url: String, _ server: PostgresOptions) async throws {
        let (here, there) = (try await Broker(postgres: url), try await Broker(postgres: url, server: server))
        let starts = Mutex<[ActionID: ContinuousClock.Instant]>([:])
        try there.route("conversation/*", Message.self) { _, attempt in
            starts.withLock { $0[attempt.id] = .now }
            return .success
        }
        let running = Task { try await there.run() }
        var commits: [ActionID: ContinuousClock.Instant] = [:]
        let start = ContinuousClock.now
        for number in 0..<count {
            try await Task.sleep(until: start + .seconds(number) / rate)
            let id = try await here.enqueue(Message(conversation: number % 100)).id
            commits[id] = .now
        }
        try await there.waitUntilIdle("conversation/*")
        await there.stop()
        try await running.value
        let times = starts.withLock { $0 }
        for (id, commit) in commits.sorted(by: { $0.key < $1.key }) {
            guard let start = times[id] else { throw LoadError.usage }
            // The handler may have started before the caller heard of the commit.
            print(max(commit.duration(to: start) / .milliseconds(1), 0))
        }
        await here.close()
        await there.close()
    }
}
