import Foundation
import Sluice
import Synchronization

/// Keeps a file busy for long with everything that a broker offers, and measures its own process.
///
/// 40 messages go round 500 conversations for ever: who leaves one enters another, in the transaction that
/// settles. So what grows grows by itself, and not with a backlog; and there is a permit left for the probe.
final class Soak: Sendable {
    private struct Message: Action {
        static let kind = "message"
        var conversation: Int
        var text: String
        var queue: QueueName { "conversation/\(conversation)" }
    }

    /// Shows how long it takes from an enqueue to the handler, beside everything else.
    private struct Probe: Action {
        static let kind = "probe"
        /// By the clock of this process.
        var enqueued: Duration
        var queue: QueueName { "probe" }
    }

    private static let conversations = 500
    private static let messages = 40

    private let file: String
    private let seconds: Int
    private let clock = SystemClock()
    private let latencies = Mutex<[Duration]>([])
    /// Of the openings that have ended.
    private let settledBefore = Mutex(0)

    init(file: String, seconds: Int) {
        (self.file, self.seconds) = (file, seconds)
    }

    /// `soak FILE SECONDS`: a line a second to standard output, words and numbers in turn: `second`,
    /// `resident` (KB), `descriptors`, `threads`, `log` and `file` (bytes), `p50` and `p99` from an enqueue
    /// to its handler (microseconds), `settled`.
    ///
    /// The file is opened anew every minute, or five times in a shorter run.
    func run() async throws {
        let span = max(2, min(60, seconds / 5))
        for start in stride(from: 0, to: seconds, by: span) {
            let broker = try await open()
            if start == 0 {
                try await broker.enqueue(
                    (0..<Self.messages).map { Message(conversation: $0, text: "hello 👋") }
                )
            }
            try await broker.run {
                for second in start..<min(start + span, seconds) {
                    try await disturb(broker, second)
                    try await probe(broker)
                    try await report(second, broker)
                }
            }
            settledBefore.withLock { $0 += Self.settled(broker) }
            await broker.close()
        }
    }

    /// Each tenth attempt asks for another, each hundredth for a gate, each thousandth fails for good.
    private func open() async throws -> Broker {
        let clock = clock
        let broker = try await Broker(file: file)
        try broker.route("probe", Probe.self) { probe, _ in
            self.note(clock.uptime - probe.enqueued)
            return .success
        }
        var route = RouteOptions(retry: .fixed(.milliseconds(20)))
        route.failure = FailurePolicies(failed: .skip)
        try broker.route("conversation/*", Message.self, route) { message, attempt in
            try await clock.sleep(untilUptime: clock.uptime + .milliseconds(5))
            let next = Message(
                conversation: (message.conversation + 7) % Self.conversations,
                text: message.text
            )
            if attempt.number == 1 {
                if attempt.id.rawValue % 10 == 0 { return .retry }
                if attempt.id.rawValue % 100 == 1 { return .retry(whenOpen: "network") }
                if attempt.id.rawValue % 1_000 == 2 {
                    // The attempt may have to begin anew, and the message goes round once.
                    var options = EnqueueOptions()
                    options.key = DeduplicationKey(attempt.idempotencyKey, retention: .seconds(30))
                    try await broker.enqueue(next, options)
                    return .fail("no such room")
                }
            }
            return .success { try $0.enqueue(next) }
        }
        return broker
    }

    /// What an application and its operator do now and then.
    private func disturb(_ broker: Broker, _ second: Int) async throws {
        if second.isMultiple(of: 2) {
            try await broker.openGate("network")
        } else {
            try await broker.closeGate("network")
        }
        let hold = try await broker.hold("conversation/1", by: "soak", reason: "a look")
        _ = try await broker.statuses(limit: 20)
        let cancelled = try await broker.enqueue(Message(conversation: 1, text: "never mind"))
        _ = try await broker.cancel(cancelled.id)
        try await broker.endHold(hold)
        try await broker.purgeDeadLetters(keepingNewest: 10)
        if second % 7 == 3 {
            await broker.file?.suspend()
            try await broker.file?.resume()
        }
    }

    private func probe(_ broker: Broker) async throws {
        for _ in 0..<20 {
            try await broker.enqueue(Probe(enqueued: clock.uptime))
            try await clock.sleep(untilUptime: clock.uptime + .milliseconds(50))
        }
    }

    private func note(_ latency: Duration) { latencies.withLock { $0.append(latency) } }

    private static func settled(_ broker: Broker) -> Int {
        let statistics = broker.statistics
        return statistics.succeeded + statistics.failed + statistics.removed
    }
}

// MARK: - Measuring

extension Soak {
    private func report(_ second: Int, _ broker: Broker) async throws {
        let times = latencies.withLock { times in
            defer { times.removeAll() }
            return times.sorted()
        }
        guard !times.isEmpty else { throw CrashChildError.noProbe(second: second) }
        let settled = settledBefore.withLock { $0 } + Self.settled(broker)
        let facts = [
            ("second", second),
            ("resident", try Self.residentKilobytes),
            ("descriptors", try Self.count(in: "/proc/self/fd")),
            ("threads", try Self.count(in: "/proc/self/task")),
            ("log", try await broker.fileEngine.store.health().walByteCount),
            ("file", try Self.byteCount(of: file)),
            ("p50", Int(times[times.count / 2] / .microseconds(1))),
            ("p99", Int(times[times.count * 99 / 100] / .microseconds(1))),
            ("settled", settled),
        ]
        let line = facts.map { "\($0) \($1)" }.joined(separator: " ")
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The memory of this process that is in use and not shared with a file.
    private static var residentKilobytes: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            guard let number = line?.split(separator: " ").dropLast().last.flatMap({ Int($0) }) else {
                throw CrashChildError.noMeasurement("/proc/self/status")
            }
            return number
        }
    }

    private static func count(in folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).count
    }

    /// By `stat`, which opens nothing.
    private static func byteCount(of path: String) throws -> Int {
        guard let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else {
            throw CrashChildError.noMeasurement(path)
        }
        return size
    }
}
