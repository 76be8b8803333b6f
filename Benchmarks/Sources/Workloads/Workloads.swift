internal import ArgumentParser
internal import Foundation
internal import Sluice

/// One workload, once, in a process of its own.
///
/// `Benchmarks/run` repeats, compares and tabulates.
@main
struct Workloads: AsyncParsableCommand {
    static let configuration = CommandConfiguration(subcommands: [Measure.self, Payloads.self, Wake.self])
}

/// Enqueues, and drains if asked to, and writes the seconds of each phase as a JSON object.
struct Measure: AsyncParsableCommand {
    enum Durability: String, ExpressibleByArgument { case standard, everything }

    @Option(help: "The database; it must not exist.") var file: String
    @Option(help: "One message a line, JSON, as the command payloads writes them.") var payloads: String
    @Option(help: "Actions in all.") var count: Int
    @Option(help: "Queues that they go into, in turn.") var queues = 1
    @Option(help: "Actions in one call of enqueue.") var batch = 1
    @Option(help: "Tasks that enqueue at the same time.") var callers = 1
    @Option(help: "The broker's durability.") var durability = Durability.standard
    @Flag(help: "Drain too.") var drain = false

    func validate() throws {
        guard min(count, queues, batch, callers) >= 1, count % callers == 0 else {
            throw ValidationError("give numbers of 1 or more, and a count that the callers can share evenly")
        }
    }

    func run() async throws {
        var options = BrokerOptions()
        options.durability = durability == .standard ? .standard : .everything
        let broker = try await Broker(file: file, options: options)
        let load = Load(broker: broker, messages: try Message.read(payloads), count: count, queues: queues)
        var seconds = ["enqueue": try await load.enqueue(batch: batch, callers: callers) / .seconds(1)]
        if drain { seconds["drain"] = try await load.drain() / .seconds(1) }
        try await load.check(isDrained: drain)
        await broker.close()
        print(String(decoding: try JSONEncoder().encode(seconds), as: UTF8.self))
    }
}

/// Writes the payloads of a run, one JSON text a line, as the library's encoder writes them.
struct Payloads: ParsableCommand {
    @Option(help: "Chat, one message a line; without it messages are made up.") var from: String?
    @Argument(help: "The file to write.") var output: String

    /// Enough that they are not all in the processor's cache because they are few.
    private static let limit = 4_096
    private static let sizes = 150...250

    func run() throws {
        let messages = try from.map(Message.read) ?? Message.madeUp(Self.limit)
        let encoder = JSONEncoder()
        let texts = try messages.lazy.map { try encoder.encode($0) }
            .filter { Self.sizes.contains($0.count) }.prefix(Self.limit)
        guard !texts.isEmpty else { throw ValidationError("no message encodes to \(Self.sizes) bytes") }
        try Data(texts.joined(separator: [UInt8(ascii: "\n")]) + [UInt8(ascii: "\n")])
            .write(to: URL(fileURLWithPath: output))
    }
}
