internal import ArgumentParser
internal import Foundation
internal import Sluice

/// Runs a file in which there is nothing to do, and tells what that costs.
struct Idle: AsyncParsableCommand {
    @Option(help: "A database, as `fill --idle` makes it.") var file: String
    @Option(help: "Seconds in all.") var seconds: Int
    @Option(help: "Parts of that time.") var windows = 5

    private struct Answer: Encodable {
        /// The share of a core in each part.
        let cores: [Double]
        /// Bytes that were there more at the end than at the beginning.
        let growth: Int
    }

    func run() async throws {
        let broker = try await Broker(file: file)
        try broker.route("conversation/*", Message.self) { _, _ in .success }
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        // What the start left to be done soon, such as a sync.
        try await Task.sleep(for: .seconds(2))
        let memory = try OwnProcess.residentMemory()
        var cores: [Double] = []
        for _ in 0..<windows {
            let (begin, before) = (OwnProcess.now, OwnProcess.processorTime)
            try await Task.sleep(for: .seconds(seconds) / windows)
            cores.append((OwnProcess.processorTime - before) / Double(OwnProcess.now - begin) * 1e9)
        }
        let growth = try OwnProcess.residentMemory() - memory
        guard broker.statistics.succeeded == 0 else { throw WrongResult(description: "it was not idle") }
        await broker.stop()
        try await running
        await broker.close()
        try Workloads.answer(Answer(cores: cores, growth: growth))
    }
}

/// Runs a file in which there is nothing to do until another process has added actions.
///
/// Writes the line `ready` when it may, and at the end the times at which their handlers started.
struct Wake: AsyncParsableCommand {
    @Option(help: "A database, as `fill --idle` makes it.") var file: String
    @Option(help: "Actions that the other process adds.") var count: Int

    private struct Foreign: Action {
        static let kind = "foreign"
        var number: Int
        var queue: QueueName { "conversation" }
    }

    func run() async throws {
        let broker = try await Broker(file: file)
        let starts = Starts(limit: count)
        let moments = Moments(count: count)
        try broker.route("conversation/*", Foreign.self) { action, _ in
            moments.note(action.number)
            starts.note()
            return .success
        }
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        try FileHandle.standardOutput.write(contentsOf: Data("ready\n".utf8))
        await starts.waitForAll()
        await broker.stop()
        try await running
        await broker.close()
        try Workloads.answer(moments.all)
    }
}
