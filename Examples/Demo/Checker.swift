#if CommandLineTool
/// Compares what was sent with what the server's log says, and believes nothing else.
struct Checker {
    /// A claim, and what speaks against it.
    struct Finding: Hashable {
        var claim: String
        var problems: [String]

        var holds: Bool { problems.isEmpty }
    }

    /// What the file still holds at the end.
    struct Remains {
        var waiting = 0
        var setAside = 0
    }

    /// Everything that was enqueued, in the order of each conversation.
    let sent: [SendMessage]
    /// The server's log, in its order.
    let log: [LogEntry]
    /// What the queues are in, in a word.
    var place = "file"

    /// All claims of the summary.
    ///
    /// - Parameters:
    ///   - remains: What the file still holds.
    ///   - unnoted: How many messages had been delivered when the first worker was killed, though its file
    ///     did not yet say so.
    func findings(remains: Remains, unnoted: Int) -> [Finding] {
        [delivery, order, keys, findRemains(remains), findRepeated(unnoted)]
    }

    private var deliveries: [LogEntry] { log.filter { $0.event == .delivered } }

    private var delivery: Finding {
        var problems: [String] = []
        let expected = Dictionary(sent.map { ($0.name, $0.text) }, uniquingKeysWith: { first, _ in first })
        let delivered = Dictionary(grouping: deliveries, by: \.message)
        for message in sent where delivered[message.name] == nil {
            problems.append("\(message.name) was never delivered")
        }
        for (message, entries) in delivered.sorted(by: { $0.key < $1.key }) {
            if entries.count > 1 { problems.append("\(message) was delivered \(entries.count) times") }
            guard let text = expected[message] else {
                problems.append("\(message) was delivered and never sent")
                continue
            }
            if entries.contains(where: { $0.text != text }) { problems.append("\(message) has another text") }
        }
        let count = expected.keys.count { delivered[$0] != nil }
        return Finding(
            claim: "\(count) of \(sent.count) messages delivered, each of them once",
            problems: problems
        )
    }

    private var order: Finding {
        var problems: [String] = []
        var latest: [String: Int] = [:]
        for entry in deliveries {
            let before = latest[entry.conversation, default: 0]
            if entry.number < before {
                problems.append("\(entry.message) was delivered behind number \(before)")
            }
            latest[entry.conversation] = max(entry.number, before)
        }
        let count = Set(sent.map(\.conversation)).count
        return Finding(claim: "in order in each of the \(count) conversations", problems: problems)
    }

    /// The server can recognise a repetition only if it comes with the same key, and may do so only if
    /// nothing else does.
    private var keys: Finding {
        var problems: [String] = []
        for (message, entries) in Dictionary(grouping: log, by: \.message).sorted(by: { $0.key < $1.key }) {
            let count = Set(entries.map(\.key)).count
            if count > 1 { problems.append("\(message) came with \(count) different keys") }
        }
        for entries in Dictionary(grouping: log, by: \.key).values {
            let messages = Set(entries.map(\.message)).sorted()
            if messages.count > 1 {
                problems.append("one key for \(messages.map(\.description).joined(separator: " and "))")
            }
        }
        return Finding(
            claim: "one idempotency key for each message, at every attempt",
            problems: problems.sorted()
        )
    }

    private func findRemains(_ remains: Remains) -> Finding {
        var problems: [String] = []
        if remains.waiting > 0 { problems.append("\(remains.waiting) still wait") }
        if remains.setAside > 0 { problems.append("\(remains.setAside) were set aside") }
        return Finding(claim: "nothing left in the \(place), nothing set aside", problems: problems)
    }

    /// What was delivered and not noted must come again, and what was noted must not.
    private func findRepeated(_ unnoted: Int) -> Finding {
        let repeated = repeatedAfterKill
        let problem = "the \(place) and the server's log do not agree on what the kill cut short"
        return Finding(
            claim: "\(repeated) sent again after the kill and recognised, \(unnoted) expected",
            problems: repeated == unnoted ? [] : [problem]
        )
    }

    /// Messages that one worker delivered and a later one sent again.
    var repeatedAfterKill: Int {
        let workers = Dictionary(
            deliveries.map { ($0.key, $0.worker) },
            uniquingKeysWith: { first, _ in first }
        )
        let repeated = log.filter { entry in
            entry.event == .recognised && workers[entry.key].map { $0 < entry.worker } == true
        }
        return Set(repeated.map(\.key)).count
    }
}

extension Checker {
    /// What the deliveries took: the attempts that the log shows, and why there were more than messages.
    var costs: [String] {
        func count(_ isCounted: (LogEntry) -> Bool) -> Int { log.count(where: isCounted) }
        let refused = count { $0.event == .refused }
        let lost = count { $0.event == .lost || $0.isAnswerLost }
        let unreachable = count { $0.event == .unreachable }
        let others = log.count - Set(log.map(\.message)).count
        let reasons = [
            (refused, "refused: the server was busy"),
            (lost, "without an answer"),
            (unreachable, "during the outage"),
            (others - refused - lost - unreachable, "cut short by the kill"),
        ]
        return ["\(log.count) attempts for \(sent.count) messages. The other \(others):"]
            + reasons.map { "\("\($0)".rightAligned(to: 6))  \($1)" }
            + [
                "\(count { $0.event == .recognised }) duplicates recognised by their key, "
                    + "\(repeatedAfterKill) of them after the kill."
            ]
    }
}
#endif
