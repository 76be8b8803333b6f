internal import ArgumentParser
internal import Foundation
internal import Sluice

/// One workload, once, in a process of its own.
///
/// `Benchmarks/run` repeats, compares and tabulates.
@main
struct Workloads: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        subcommands: [
            Measure.self, Flow.self, Fill.self, Backlog.self, Blocked.self, Start.self, Idle.self, Wake.self,
            Share.self, Point.self, Steady.self, Files.self, Payloads.self,
        ]
    )

    /// Writes a result as a JSON object, on a line.
    static func answer(_ result: some Encodable) throws {
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(result) + Data("\n".utf8))
    }
}

/// Where the actions go and come from.
struct Source: ParsableArguments {
    @Option(help: "The database.") var file: String
    @Option(help: "One message a line, JSON, as the command payloads writes them.") var payloads: String

    func messages() throws -> [Message] { try Message.read(payloads) }
}

enum Level: String, ExpressibleByArgument {
    case everything, standard, relaxed

    var options: BrokerOptions {
        var options = BrokerOptions()
        switch self {
        case .everything: options.file.durability = .everything
        case .standard: options.file.durability = .standard
        case .relaxed: options.file.durability = .relaxed
        }
        return options
    }
}

/// Enqueues into a new file, and drains if asked to, and writes the seconds of each phase as a JSON object.
struct Measure: AsyncParsableCommand {
    @OptionGroup var source: Source
    @Option(help: "Actions in all.") var count: Int
    @Option(help: "Queues that they go into, in turn.") var queues = 1
    @Option(help: "Actions in one call of enqueue.") var batch = 1
    @Option(help: "Tasks that enqueue at the same time.") var callers = 1
    @Option(help: "The broker's durability.") var durability = Level.standard
    @Flag(help: "Drain too.") var drain = false
    @Option(help: "The longest that a drain takes: then it stops, with what it has done.")
    var seconds: Double?

    func validate() throws {
        guard min(count, queues, batch, callers) >= 1, count % callers == 0 else {
            throw ValidationError("give numbers of 1 or more, and a count that the callers can share evenly")
        }
    }

    func run() async throws {
        let broker = try await Broker(file: source.file, options: durability.options)
        let load = Load(broker: broker, messages: try source.messages(), count: count, queues: queues)
        var answer = ["enqueue": try await load.enqueue(batch: batch, callers: callers) / .seconds(1)]
        let drain = drain ? try await load.drain(limit: seconds.map { .seconds($0) }) : nil
        if let drain {
            answer["drain"] = drain.elapsed / .seconds(1)
            answer["drained"] = Double(drain.count)
        }
        try await load.check(drain)
        await broker.close()
        try Workloads.answer(answer)
    }
}

/// Writes the payloads of a run, one JSON text a line, as the library's encoder writes them.
struct Payloads: ParsableCommand {
    @Option(help: "Chat, one message a line; without it messages are made up.") var from: String?
    @Option(help: "The bytes that a text has: those of several messages, or of a part of one.") var size: Int?
    @Argument(help: "The file to write.") var output: String

    /// Enough that they are not all in the processor's cache because they are few.
    private static let limit = 4_096
    private static let sizes = 150...250
    /// Of large ones, whose bytes are many already.
    private static let largeLimit = 64

    func run() throws {
        let messages = try from.map(Message.read) ?? Message.madeUp(Self.limit)
        let encoder = JSONEncoder()
        let texts: [Data]
        if let size {
            texts = try Message.joined(messages, size: size, count: Self.largeLimit).map(encoder.encode)
        } else {
            texts = Array(
                try messages.lazy.map { try encoder.encode($0) }
                    .filter { Self.sizes.contains($0.count) }.prefix(Self.limit)
            )
        }
        guard !texts.isEmpty else { throw ValidationError("no message encodes to \(Self.sizes) bytes") }
        try Data(texts.joined(separator: [UInt8(ascii: "\n")]) + [UInt8(ascii: "\n")])
            .write(to: URL(fileURLWithPath: output))
    }
}
