internal import ArgumentParser
internal import Foundation
internal import Sluice

/// Runs a broker with many queues that have nothing to do, and tells when each action of the queue `live`
/// starts; `python3 -m bench.wake` enqueues those from its own process.
///
/// Writes `ready`, then for each action its number and the monotonic clock in nanoseconds, and stops when its
/// input ends.
struct Wake: AsyncParsableCommand {
    @Option(help: "The database; it must not exist.") var file: String
    @Option(help: "Queues that each hold an action without a route.") var queues = 100_000
    @Option(help: "Do not watch the log; poll, every so many milliseconds.") var poll: Int?

    func run() async throws {
        var options = BrokerOptions()
        if let poll {
            options.watchesLog = false
            options.foreignChangeInterval = .milliseconds(poll)
        }
        let broker = try await Broker(file: file, options: options)
        let messages = Message.madeUp(1)
        let load = Load(broker: broker, messages: messages, count: queues, queues: max(queues, 1))
        if queues > 0 { _ = try await load.enqueue(batch: min(1_000, queues), callers: 1) }
        try broker.route("live", Message.self) { message, _ in
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            write("\(message.sentAt) \(time.tv_sec * 1_000_000_000 + time.tv_nsec)\n")
            return .success
        }
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        write("ready\n")
        await withCheckedContinuation { continuation in
            // A thread of its own: reading blocks.
            Thread.detachNewThread {
                while readLine() != nil {}
                continuation.resume()
            }
        }
        await broker.stop()
        try await running
        await broker.close()
    }
}

/// Writes at once, without a buffer.
private func write(_ text: String) {
    FileHandle.standardOutput.write(Data(text.utf8))
}
