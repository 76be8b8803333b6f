internal import Benchmark
internal import Foundation
internal import Sluice

/// What the engine costs without disk and without a second thread: an enqueue into memory by a lone caller,
/// and its payload's JSON alone.
///
/// Run by `swift package benchmark`, which also keeps and compares baselines.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput, .instructions],
        scalingFactor: .kilo,
        maxDuration: .seconds(5),
        maxIterations: 50
    )

    Benchmark("Enqueue in memory, one at a time") { benchmark, broker in
        for _ in benchmark.scaledIterations { try broker.enqueueBlocking(Message.sample) }
    } setup: {
        try await Broker.inMemory(BrokerOptions())
    }

    Benchmark("JSON there and back") { benchmark in
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        for _ in benchmark.scaledIterations {
            let data = try encoder.encode(Message.sample)
            blackHole(try decoder.decode(Message.self, from: data))
        }
    }
}

private struct Message: Action {
    static let kind = "message"
    static let sample = Message(
        conversation: "made-up-1",
        sentAt: "2026-01-01T00:00:00.000000",
        sender: "Ada",
        text: String(repeating: "some words more, ", count: 6)
    )

    var conversation: String
    var sentAt: String
    var sender: String
    var text: String
    var queue: QueueName { "conversation" }
}
