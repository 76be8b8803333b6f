#if CommandLineTool
/// A chat server that fails in the ways in which servers fail, and the network before it.
///
/// It lives in the worker's process and dies with it; what it has stored is on its disk, the log.
actor ChatServer {
    enum Failure: Error, CustomStringConvertible {
        case busy
        case unreachable

        /// Sluice keeps this as the action's last error, where operators see it.
        var description: String {
            switch self {
            case .busy: "the server is busy"
            case .unreachable: "the server is unreachable"
            }
        }
    }

    private let log: ServerLog
    private let weather: Weather
    private let worker: Int
    /// The idempotency keys of all messages that it has stored: all it needs to tell a repetition.
    private var knownKeys: Set<String> = []
    /// How often each key has come by.
    private var visits: [String: Int] = [:]
    private var outageEnds: ContinuousClock.Instant?

    init(log: ServerLog, weather: Weather, worker: Int) throws {
        self.log = log
        self.weather = weather
        self.worker = worker
        for entry in try log.entries() {
            // The weather counts visits, and an outage is none.
            if entry.event != .unreachable { visits[entry.key, default: 0] += 1 }
            if entry.event == .delivered { knownKeys.insert(entry.key) }
        }
    }

    /// Stores a message, or recognises it, and answers by returning.
    func receive(_ message: SendMessage, attempt: Int, key: String) async throws {
        try await travel(.milliseconds(30) ... .milliseconds(90))
        var entry = LogEntry(
            worker: worker,
            conversation: message.conversation,
            number: message.number,
            attempt: attempt,
            key: key,
            text: message.text,
            event: .refused
        )
        if let outageEnds, .now < outageEnds {
            entry.event = .unreachable
            try log.append(entry)
            throw Failure.unreachable
        }
        let visit = visits[key, default: 0] + 1
        visits[key] = visit
        let fate = weather.fate(of: message.name, visit: visit)
        switch fate {
        case .refused:
            try log.append(entry)
            throw Failure.busy
        case .requestLost:
            entry.event = .lost
            try log.append(entry)
            try await silence()
        case .fair, .answerLost:
            entry.isAnswerLost = fate == .answerLost
            try store(entry)
            if entry.isAnswerLost { try await silence() }
            // The answer's way is the moment that a kill is cruel to: the message is delivered, its sender
            // does not know yet, and will send it again.
            try await travel(.milliseconds(100) ... .milliseconds(280))
        }
    }

    /// Stores a message unless its key is known: this makes "at least once" look like "once".
    private func store(_ entry: LogEntry) throws {
        var entry = entry
        entry.event = knownKeys.contains(entry.key) ? .recognised : .delivered
        try log.append(entry)
        guard knownKeys.insert(entry.key).inserted else { return }
        if knownKeys.count == Weather.outageWhenDelivered { outageEnds = .now + Weather.outageLength }
    }

    private func travel(_ time: ClosedRange<Duration>) async throws {
        let share = Double.random(in: 0...1)
        try await Task.sleep(for: time.lowerBound + (time.upperBound - time.lowerBound) * share)
    }

    /// Does not answer.
    ///
    /// The route's timeout cancels the sender's task, which ends the sleep.
    private func silence() async throws {
        try await Task.sleep(for: .seconds(3_600))
    }
}
#endif
