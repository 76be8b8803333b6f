internal import ArgumentParser
internal import Foundation
internal import Sluice
internal import Synchronization

/// Runs what a file holds beside other processes that do so too.
///
/// It writes `ready`, and begins at the next line of its input, so that all begin at once.
struct Share: AsyncParsableCommand {
    @Option(help: "A database with actions.") var file: String
    @Option(help: "The broker's durability.") var durability = Level.standard
    @Option(help: "Milliseconds that each handler waits, as for the answer of a server.") var pause = 0
    @Option(help: "How many handlers run at the same time at most.") var concurrency: Int?

    private struct Answer: Encodable {
        /// Nanoseconds, by a clock that all processes of the machine share.
        let began: Int64
        /// The start of the last handler.
        let ended: Int64
        let settled: Int
    }

    func run() async throws {
        var options = durability.options
        if let concurrency { options.concurrency = concurrency }
        let broker = try await Broker(file: file, options: options)
        let last = Latest()
        let pause = Duration.milliseconds(pause)
        try broker.route("conversation/*", Message.self) { _, _ in
            if pause > .zero { try await Task.sleep(for: pause) }
            last.time.store(OwnProcess.now, ordering: .relaxed)
            return .success
        }
        try FileHandle.standardOutput.write(contentsOf: Data("ready\n".utf8))
        guard readLine() != nil else { throw WrongResult(description: "it was not told to begin") }
        let began = OwnProcess.now
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
        let answer = Answer(
            began: began,
            ended: last.time.load(ordering: .relaxed),
            settled: broker.statistics.succeeded
        )
        await broker.close()
        try Workloads.answer(answer)
    }

    private final class Latest: Sendable {
        let time = Atomic<Int64>(0)
    }
}
