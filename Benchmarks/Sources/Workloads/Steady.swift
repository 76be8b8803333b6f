internal import ArgumentParser
internal import Foundation
internal import Sluice

/// Enqueues and runs at a steady rate, and writes a line of JSON with the sizes every so often.
struct Steady: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Actions a second.") var rate = 500
    @Option(help: "Queues that they go into, in turn.") var queues = 1_000
    @Option(help: "Milliseconds that each handler waits, as for the answer of a server.") var pause = 5
    @Option(help: "Seconds in all.") var seconds: Int
    @Option(help: "Seconds from one line to the next.") var every = 10

    /// Enqueues begin together so many times a second.
    private static let beats = 50

    private struct Sample: Encodable {
        let second: Int
        /// Bytes.
        let file: Int
        let log: Int
        let memory: Int
        /// Share of a core since the last line.
        let core: Double
        /// Actions that have run since then, a second.
        let rate: Double
    }

    func validate() throws {
        guard rate >= Self.beats, rate % Self.beats == 0, min(queues, seconds, every) >= 1 else {
            throw ValidationError("the rate must be a multiple of \(Self.beats)")
        }
    }

    func run() async throws {
        let broker = try await Broker(file: source.file)
        let count = rate * seconds
        let load = Load(broker: broker, messages: try source.messages(), count: count, queues: queues)
        let pause = Duration.milliseconds(pause)
        try broker.route("conversation/*", Message.self) { _, _ in
            if pause > .zero { try await Task.sleep(for: pause) }
            return .success
        }
        async let running: Void = broker.run()
        async let watching: Void = watch(broker)
        try await send(load)
        try await watching
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
        guard broker.statistics.succeeded == count else {
            throw WrongResult(description: "\(broker.statistics.succeeded) run, of \(count)")
        }
        await broker.close()
    }

    @concurrent
    private func send(_ load: Load) async throws {
        let begin = ContinuousClock.now
        let each = rate / Self.beats
        try await withThrowingDiscardingTaskGroup { group in
            for beat in 0..<seconds * Self.beats {
                try await Task.sleep(until: begin + .seconds(1) / Self.beats * beat, clock: .continuous)
                for number in beat * each..<(beat + 1) * each {
                    group.addTask { try await load.broker.enqueue(load.message(number)) }
                }
            }
        }
    }

    @concurrent
    private func watch(_ broker: Broker) async throws {
        let begin = ContinuousClock.now
        var (processor, succeeded) = (OwnProcess.processorTime, 0)
        for second in stride(from: every, through: seconds, by: every) {
            try await Task.sleep(until: begin + .seconds(second), clock: .continuous)
            let now = (OwnProcess.processorTime, broker.statistics.succeeded)
            let sample = Sample(
                second: second,
                file: size(source.file),
                log: size(source.file + "-wal"),
                memory: try OwnProcess.residentMemory(),
                core: (now.0 - processor) / Double(every),
                rate: Double(now.1 - succeeded) / Double(every)
            )
            (processor, succeeded) = now
            try Workloads.answer(sample)
        }
    }

    /// 0 where there is no such file, as for the log when it has been closed.
    private func size(_ path: String) -> Int {
        (try? URL(fileURLWithPath: path).resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0
    }
}
