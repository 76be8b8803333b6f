#if CommandLineTool
import ArgumentParser
import Foundation
import Sluice

/// The process that sends: the demo starts it, kills it, and starts it again.
struct Worker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(shouldDisplay: false)

    @Argument(help: "Where the queues are.") var queues: String
    @Argument(help: "The server's log.") var log: String
    @Argument(help: "Which of the demo's workers this is.") var number: Int
    @Argument(help: "The seed of the weather.") var seed: UInt64

    func run() async throws {
        var options = BrokerOptions()
        // Seeded, so that even the jitter of the retries is the show's own.
        options.randomness = Dice(seed: seed, mixedWith: "jitter of worker \(number)")
        let broker = try await Outbox.open(queues, options)
        let server = try ChatServer(log: ServerLog(path: log), weather: Weather(seed: seed), worker: number)

        // This is all that Sluice needs to be told. Every queue that has work resumes by itself, whoever
        // filled it and however the process before this one ended.
        try broker.route("conversation/*", SendMessage.self, Self.route) { message, attempt in
            // The key is the same at each attempt of this message, also after a crash.
            try await server.receive(message, attempt: attempt.number, key: attempt.idempotencyKey)
            // A thrown error is a retry by the route's policy.
            return .success
        }
        let running = Task { try await broker.run() }
        whenInputEnds {
            Task {
                await broker.stop()
                // A stop that came before the broker ran would not be seen by it; a cancelled task will.
                running.cancel()
            }
        }
        try await running.value
        await broker.close()
    }

    /// Delays for an audience: a real sender would wait for seconds, and up to minutes.
    private static let route = RouteOptions(
        retry: .exponential(first: .milliseconds(300), limit: .seconds(1)),
        timeout: .milliseconds(700)
    )

    /// Acts when the demo closes the other end of our standard input, to stop us.
    ///
    /// If the demo itself is killed the system closes it, so that no worker is ever left behind.
    private func whenInputEnds(_ act: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            while readLine() != nil {}
            act()
        }
    }
}
#endif
