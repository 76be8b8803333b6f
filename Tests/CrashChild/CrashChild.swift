import Foundation
import Sluice
import Synchronization
import TestSupport

/// A process for crash tests to start, which is killed by its own handlers or by the test.
@main
struct CrashChild {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.dropFirst().first {
        case "poison" where arguments.count == 6:
            guard let lanes = Int(arguments[4]) else { throw CrashChildError.usage }
            try await runPoison(file: arguments[2], log: arguments[3], lanes: lanes, run: arguments[5])
        case "enqueue" where arguments.count == 4:
            guard let count = Int(arguments[3]) else { throw CrashChildError.usage }
            try await enqueue(file: arguments[2], count: count)
        case "settle" where arguments.count == 5:
            guard let last = Int(arguments[4]) else { throw CrashChildError.usage }
            try await settle(file: arguments[2], inOwnTransaction: arguments[3] == "own", last: last)
        case "work" where arguments.count == 9:
            guard let lease = Int(arguments[5]), let permits = Int(arguments[7]),
                let pause = Int(arguments[8])
            else { throw CrashChildError.usage }
            let worker = Worker(
                file: arguments[2],
                log: try Log(arguments[3], run: arguments[4]),
                permits: permits,
                pause: .milliseconds(pause)
            )
            try await worker.work(lease: .milliseconds(lease), untilIdle: arguments[6] == "idle")
        case "fork" where arguments.count == 3:
            try await fork(file: arguments[2])
        case "move" where arguments.count == 5:
            try await moveAway(from: arguments[2], to: arguments[3], name: arguments[4])
        case "files" where arguments.count == 3:
            try await useFile(arguments[2])
        case "contexts" where arguments.count == 5:
            guard let queues = Int(arguments[3]), let actions = Int(arguments[4]) else {
                throw CrashChildError.usage
            }
            try await useContexts(file: arguments[2], queues: queues, actions: actions)
        case "soak" where arguments.count == 4:
            guard let seconds = Int(arguments[3]) else { throw CrashChildError.usage }
            try await Soak(file: arguments[2], seconds: seconds).run()
        case let verb?:
            try await breakSomething(verb, Array(arguments.dropFirst(2)))
        default:
            throw CrashChildError.usage
        }
    }

    /// `poison FILE LOG LANES first|later`: runs one action of each lane.
    ///
    /// In the first run all lanes run at the same time, and the poisonous one kills the process only then; in
    /// a later one each handler returns at once, but for the poisonous one. The handlers' starts go to LOG, a
    /// line each: `RUN ID ATTEMPT`.
    private static func runPoison(file: String, log: String, lanes: Int, run: String) async throws {
        let isFirst = run == "first"
        let log = try Log(log, run: run)
        let everybody = Rendezvous(count: lanes)
        var options = BrokerOptions.silent
        // So few that a kill also meets the order while it is written to the file.
        options.file.writeBehind.newest = 8
        options.file.writeBehind.batch = 4
        options.concurrency = lanes
        let broker = try await Broker(file: file, options: options)
        let route = RouteOptions(failure: FailurePolicies(crashed: .skip))
        try broker.route("lane/*", Job.self, route) { job, attempt in
            try log.append("\(attempt.id) \(attempt.number)")
            if isFirst { await everybody.meet() }
            if job.isPoison { kill(getpid(), SIGKILL) }
            // The first run ends with the process: nobody leaves before.
            if isFirst { await everybody.waitForever() }
            return .success
        }
        try await broker.run {
            await broker.waitUntilIdle()
        }
        await broker.close()
    }

    /// `enqueue FILE COUNT`: enqueues one action after the other.
    ///
    /// Writes the number of each that is durable to standard output.
    private static func enqueue(file: String, count: Int) async throws {
        let broker = try await Broker(file: file)
        for lane in 0..<count {
            let id = try await broker.enqueue(Job(lane: lane % 10, isPoison: false)).id
            try FileHandle.standardOutput.write(contentsOf: Data("\(id)\n".utf8))
        }
        await broker.close()
    }
}

enum CrashChildError: Error {
    case usage
    case noProbe(second: Int)
    case noMeasurement(String)
}

/// An action that may be poison.
struct Job: Action {
    static let kind = "job"
    var lane: Int
    var isPoison: Bool
    var queue: QueueName { "lane/\(lane)" }
}

/// A file to which each line is added in one write, so that a kill leaves whole lines.
final class Log: Sendable {
    private let handle: FileHandle
    private let run: String

    init(_ path: String, run: String) throws {
        // At the end, wherever that is by then: other processes write to it too.
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CrashChildError.usage }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        self.run = run
    }

    func append(_ line: String) throws {
        try handle.write(contentsOf: WholeLine.bytes("\(run) \(line)"))
    }
}

/// Where a number of tasks wait for each other.
final class Rendezvous: Sendable {
    private let waiting: Mutex<(missing: Int, tasks: [CheckedContinuation<Void, Never>])>

    init(count: Int) {
        waiting = Mutex((count, []))
    }

    func meet() async {
        await withCheckedContinuation { continuation in
            let tasks = waiting.withLock { waiting -> [CheckedContinuation<Void, Never>] in
                waiting.missing -= 1
                waiting.tasks.append(continuation)
                return waiting.missing == 0 ? waiting.tasks : []
            }
            for task in tasks { task.resume() }
        }
    }

    func waitForever() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in stream {}
        continuation.finish()
    }
}
