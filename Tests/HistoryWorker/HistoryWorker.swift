import Foundation
import Sluice

/// One of several processes on a file: it enqueues its share of real conversations, runs queues where it may,
/// and writes down what it does, for `CrashTests` to check.
///
/// `HistoryWorker FILE FOLDER CONVERSATIONS COUNT INDEX.LIFE WORKERS SEED END`, where COUNT is of the lines
/// that are enqueued, by all of WORKERS, and END the time since the machine's start, in nanoseconds, until
/// which it takes its time. Its history goes to `FOLDER/INDEX.LIFE`. With the index `last` it enqueues
/// nothing, and ends when no queue has work.
@main
struct HistoryWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 9, let count = Int(arguments[4]), let workers = Int(arguments[6]),
            let seed = UInt64(arguments[7]), let end = Int64(arguments[8])
        else { throw HistoryWorkerError.usage }
        let name = arguments[5]
        let history = try History(arguments[2] + "/" + name)
        var options = BrokerOptions()
        // So few that a kill also meets the order while it is written to the file.
        options.writeBehind.newest = 64
        options.writeBehind.batch = 16
        if ProcessInfo.processInfo.environment["SLUICE_LOG_UNGUARDED"] != nil { options.hasResetBug = false }
        let broker = try await Broker(file: arguments[1], options: options)
        try route(broker, history, seed)
        let index = Int(name.prefix { $0 != "." })
        async let running: Void = run(broker, until: index == nil ? .idle : .stopped)
        if let index {
            let share = try Share(
                conversations: arguments[3],
                count: count,
                index: index,
                workers: workers,
                last: try History.lastEnqueued(in: arguments[2], index: index)
            )
            try await enqueue(share, broker, history, end: end)
            try await SystemClock.sleep(.nanoseconds(max(end - now(), 0)))
            isOver.end()
        }
        try await running
        await broker.close()
    }

    /// The time since the machine's start, the same in all processes.
    static func now() -> Int64 {
        var time = timespec()
        #if os(Linux)
        clock_gettime(CLOCK_BOOTTIME, &time)
        #else
        clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    // MARK: - Running

    private enum Goal { case idle, stopped }

    private static let isOver = Occasion()

    private static func route(_ broker: Broker, _ history: History, _ seed: UInt64) throws {
        var options = RouteOptions(retry: .fixed(.milliseconds(20)))
        // Kills come at random: nobody is to be convicted of them.
        options.crashLimit = 1_000
        try broker.route("conversation/*", Message.self, options) { message, attempt in
            let run = "\(attempt.queue)\t\(message.line)\t\(attempt.id)\t\(attempt.number)"
            history.append("S\t\(now())\t\(run)")
            var outcome = "cancelled"
            defer { history.append("F\t\(now())\t\(run)\t\(outcome)") }
            // The same message takes the same time whenever the test is run with this seed.
            var random = Mixer(state: seed &+ UInt64(message.line) &* 977 &+ UInt64(attempt.number))
            let chance = random.next() % 1_000
            let pause: Duration = chance < 5 ? .milliseconds(150) : .microseconds(random.next() % 4_000)
            if chance < 600 { try await SystemClock.sleep(pause) }
            guard chance % 20 != 0 || attempt.number > 5 else {
                outcome = "retry"
                throw HistoryWorkerError.unlucky
            }
            outcome = "success"
            return .success
        }
    }

    /// Runs queues whenever no other process does.
    private static func run(_ broker: Broker, until goal: Goal) async throws {
        async let stop: Void = {
            switch goal {
            case .idle: await broker.waitUntilIdle()
            case .stopped: await isOver.ended()
            }
            await broker.stop()
        }()
        repeat {
            do {
                try await broker.run()
            } catch let error as SluiceError where error.code == .databaseLocked {
                // Another was stopped while it had the write lock.
            }
        } while goal == .stopped && !isOver.hasEnded
        await stop
    }

    // MARK: - Enqueuing

    private static func enqueue(_ share: Share, _ broker: Broker, _ history: History, end: Int64) async throws
    {
        for (index, message) in share.messages.enumerated() {
            let options = EnqueueOptions(
                key: DeduplicationKey("line \(message.line)", retention: .seconds(86_400))
            )
            history.append("e\t\(now())\t\(message.queue)\t\(message.line)")
            while true {
                do {
                    let id = try await broker.enqueue(message, options).id
                    history.append("E\t\(now())\t\(message.queue)\t\(message.line)\t\(id)")
                    break
                } catch let error as SluiceError where error.code == .databaseLocked {
                    continue
                }
            }
            // Spread over the time that is left.
            let left = end - now()
            if left > 0 {
                try await SystemClock.sleep(.nanoseconds(left / Int64(share.messages.count - index)))
            }
        }
    }
}

enum HistoryWorkerError: Error { case usage, unlucky }

/// A line of the conversations.
struct Message: Action {
    static let kind = "message"
    var conversation: String
    var sentAt: String
    var text: String
    var line: Int
    var queue: QueueName { "conversation/\(conversation)" }
    var sortKey: SortKey { .text(sentAt) }
}
