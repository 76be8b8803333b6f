import Foundation
import Sluice
import SluicePostgres

/// One load on queues in PostgreSQL, for `Benchmarks/postgres`, which starts and stops it.
///
///     PostgresLoad enqueue URL CALLERS BATCH COUNT QUEUES
///     PostgresLoad work URL CONCURRENCY POLL-MILLISECONDS LISTENS
///     PostgresLoad latency URL COUNT A-SECOND POLL-MILLISECONDS LISTENS
@main
struct PostgresLoad {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let verb = arguments.first, let url = arguments.dropFirst().first else { throw LoadError.usage }
        let numbers = arguments.dropFirst(2).compactMap { Int($0) }
        switch (verb, numbers.count) {
        case ("enqueue", 4):
            let load = Enqueues(callers: numbers[0], batch: numbers[1], count: numbers[2], queues: numbers[3])
            try await load.run(url)
        case ("work", 3): try await Work.run(url, concurrency: numbers[0], server(numbers[1], numbers[2]))
        case ("latency", 4):
            try await Latency(count: numbers[0], rate: numbers[1]).run(url, server(numbers[2], numbers[3]))
        default: throw LoadError.usage
        }
    }

    private static func server(_ poll: Int, _ listens: Int) -> PostgresOptions {
        var server = PostgresOptions()
        (server.pollInterval, server.listens) = (.milliseconds(poll), listens != 0)
        return server
    }

    /// Writes a line at once, though the output is a pipe.
    static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

    /// The processor time of this process, in seconds.
    static var processorTime: Double {
        var usage = rusage()
        #if os(Linux)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        return [usage.ru_utime, usage.ru_stime].reduce(0) { sum, time in
            sum + Double(time.tv_sec) + Double(time.tv_usec) / 1e6
        }
    }
}

enum LoadError: Error { case usage }

/// The payload of all loads: about 100 bytes.
struct Message: Action {
    static let kind = "message"
    var conversation: Int
    var text = "A message of the length that people write on their telephones, more or less."
    var queue: QueueName { "conversation/\(conversation)" }
}
