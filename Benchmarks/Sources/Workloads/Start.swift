internal import ArgumentParser
internal import Sluice

/// Opens a file and runs it until the first handler starts, and changes nothing in it.
struct Start: AsyncParsableCommand {
    @Option(help: "A database with actions.") var file: String

    private struct Answer: Encodable {
        /// From the opening to the first handler.
        let seconds: Double
        /// Then, and when the broker has had time to find all queues with work.
        let memory: Int
        let laterMemory: Int
    }

    func run() async throws {
        let starts = Starts(limit: 1)
        let begin = OwnProcess.now
        let broker = try await Broker(file: file)
        try broker.route("conversation/*", Message.self) { _, _ in
            starts.note()
            // Until the stop, which gives the action back.
            try await Task.sleep(for: .seconds(3_600))
            return .release
        }
        async let running: Void = broker.run()
        await starts.waitForAll()
        let memory = try OwnProcess.residentMemory()
        let seconds = Double(starts.first - begin) / 1e9
        try await Task.sleep(for: .seconds(1))
        let laterMemory = try OwnProcess.residentMemory()
        await broker.stop(grace: .zero)
        try await running
        await broker.close()
        try Workloads.answer(Answer(seconds: seconds, memory: memory, laterMemory: laterMemory))
    }
}
