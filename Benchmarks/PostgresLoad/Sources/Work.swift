import Foundation
import Sluice
import SluicePostgres
import Synchronization

/// A worker whose handlers do nothing: it begins at a line of its input, and stops when that ends.
enum Work {
    /// Writes `ready`, then each tenth of a second how many actions it has run, and at the end its processor
    /// time in seconds.
    static func run(_ url: String, concurrency: Int, _ server: PostgresOptions) async throws {
        var options = BrokerOptions()
        options.concurrency = concurrency
        let broker = try await Broker(postgres: url, options: options, server: server)
        let count = Atomic(0)
        try broker.route("conversation/*", Message.self) { _, _ in
            count.add(1, ordering: .relaxed)
            return .success
        }
        PostgresLoad.say("ready")
        _ = readLine()
        let start = PostgresLoad.processorTime
        let running = Task { try await broker.run() }
        let telling = Task {
            while !Task.isCancelled {
                PostgresLoad.say("\(count.load(ordering: .relaxed))")
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while readLine() != nil {}
                continuation.resume()
            }
        }
        telling.cancel()
        await broker.stop()
        try await running.value
        PostgresLoad.say("used \(PostgresLoad.processorTime - start)")
        await broker.close()
    }
}
