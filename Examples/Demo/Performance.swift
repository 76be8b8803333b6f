#if CommandLineTool
import Foundation
import Sluice
import Subprocess

/// The course of events: messages are enqueued, a worker sends them, is killed, and another goes on.
///
/// This process plays the part of the application's window. It opens the same file as the worker, or the
/// same database, enqueues into it and reads from it, and never runs its queues. Besides that, it only reads
/// the server's log.
final class Performance {
    /// The first worker is killed when the server has so many messages.
    private static let killWhenDelivered = 60
    /// How long nobody sends after that.
    private static let silence: Duration = .milliseconds(1_500)
    private static let pictureInterval: Duration = .milliseconds(80)
    /// When the server's log has not grown for so long, something is wrong that waiting will not mend.
    private static let patience: Duration = .seconds(15)
    /// The show takes about 15 s; one that takes so long will not end at all.
    private static let limit: Duration = .seconds(90)

    private let stage: Stage
    private let seed: UInt64
    private var screen: any Screen
    private let outbox: Broker
    private var reader: LogReader

    private let start = ContinuousClock.now
    private var lastNews = ContinuousClock.now
    private var enqueued: [ActionID: SendMessage] = [:]
    private var untyped = Script.typed[...]
    private var log: [LogEntry] = []
    private var worker: Int?
    private var isOutage = false
    private var allDone = false

    init(on stage: Stage, seed: UInt64, screen: any Screen) async throws {
        self.stage = stage
        self.seed = seed
        self.screen = screen
        outbox = try await Outbox.open(stage.queues)
        let left = try await outbox.actionCount()
        guard left == 0 else {
            await outbox.close()
            let advice = "DROP SCHEMA \(Outbox.schema) CASCADE"
            throw DemoError("\(left) actions of an earlier show are left: \(advice)")
        }
        reader = try LogReader(path: stage.log)
    }

    /// Performs everything.
    ///
    /// - Returns: Whether all that the summary claims was found true.
    func run() async throws -> Bool {
        do {
            let summary = try await perform()
            screen.close(summary.lines)
            await outbox.close()
            return summary.holds
        } catch {
            // A terminal wants its cursor back, whatever happened.
            screen.close([])
            await outbox.close()
            throw error
        }
    }

    private func perform() async throws -> Summary {
        try await enqueueScript()
        try await runWorkerAndKillIt()
        let unnoted = try await takeStock()
        try await doNothingForAWhile()
        let end = try await runWorkerToTheEnd()
        try await look()
        let sent = enqueued.sorted { $0.key < $1.key }.map(\.value)
        let checker = Checker(sent: sent, log: log, place: stage.place)
        let remains = Checker.Remains(
            waiting: try await outbox.actionCount(),
            setAside: try await outbox.deadLetters().count
        )
        return Summary(
            findings: checker.findings(remains: remains, unnoted: unnoted) + [end],
            costs: checker.costs,
            elapsed: elapsed,
            seed: seed
        )
    }
}

// MARK: - Acts

extension Performance {
    private func enqueueScript() async throws {
        let messages = Script.conversations.flatMap(\.messages)
        // All or none, in one commit, durable when it returns.
        let ids = try await outbox.enqueue(messages)
        enqueued = Dictionary(uniqueKeysWithValues: zip(ids, messages))
        tell(
            "\(messages.count) messages to \(Script.conversations.count) conversations are enqueued, one "
                + "queue for each conversation: on disk, before anything is sent. (seed \(seed))"
        )
    }

    private func runWorkerAndKillIt() async throws {
        let end = try await WorkerProcess(number: 1, stage: stage, seed: seed).run { pid, kill in
            tell("Worker 1, process \(pid), begins to send.")
            worker = 1
            try await watch { self.delivered >= Self.killWhenDelivered }
            try kill()
            tell("kill -9 \(pid): worker 1 is dead, in the middle of its work.")
        }
        worker = nil
        guard end == .signaled(SIGKILL) else {
            throw DemoError("worker 1 ended before it was killed: \(end)")
        }
    }

    /// Says what the kill has left.
    ///
    /// - Returns: How many messages the server has that the file still holds: the kill came between the
    ///   delivery and the note that it had succeeded.
    private func takeStock() async throws -> Int {
        try await look()
        let waiting = try await outbox.actionCount()
        let unnoted = delivered - (enqueued.count - waiting)
        tell(
            "\(waiting) of \(enqueued.count) actions wait in the \(stage.place). The server has \(delivered) "
                + "messages: the worker could not note \(unnoted) of them as sent any more, so these will be "
                + "sent again, with the same keys."
        )
        return unnoted
    }

    private func doNothingForAWhile() async throws {
        let message = Script.typedIntoTheVoid
        try await type(message.text, to: message.conversation)
        let end = ContinuousClock.now + Self.silence
        try await watch { .now >= end }
    }

    private func runWorkerToTheEnd() async throws -> Checker.Finding {
        let end = try await WorkerProcess(number: 2, stage: stage, seed: seed).run { pid, _ in
            tell(
                "Worker 2, process \(pid), goes on with the same \(stage.place). What ran when worker 1 died "
                    + "runs alone at first, one by one: one of them might have been the cause."
            )
            worker = 2
            lastNews = .now
            try await watch { self.allDone && self.untyped.isEmpty }
        }
        worker = nil
        return Checker.Finding(
            claim: "worker 2 has stopped in order",
            problems: end.isSuccess ? [] : ["\(end)"]
        )
    }
}

// MARK: - Steps

extension Performance {
    private var elapsed: Duration { .now - start }
    private var delivered: Int { log.count { $0.event == .delivered } }

    private func tell(_ text: String) {
        screen.tell(text, at: elapsed)
    }

    /// Enqueues a message at the end of a conversation.
    private func type(_ text: String, to conversation: String) async throws {
        let number = enqueued.values.count { $0.conversation == conversation } + 1
        let message = SendMessage(conversation: conversation, number: number, text: text)
        enqueued[try await outbox.enqueue(message).id] = message
        let remark = worker.map { "while worker \($0) sends" } ?? "while there is no worker"
        tell("Typed to \(conversation), \(remark): \"\(text)\"")
    }

    /// Looks again and again until it is over.
    private func watch(until isOver: () -> Bool) async throws {
        while true {
            try await look()
            if isOver() { return }
            if let next = untyped.first, next.whenDelivered <= delivered {
                untyped.removeFirst()
                try await type(next.text, to: next.conversation)
            }
            guard .now - lastNews < Self.patience else {
                throw DemoError("the server's log has not grown for \(Self.patience.inSeconds)")
            }
            guard elapsed < Self.limit else {
                throw DemoError("not all messages have been delivered after \(Self.limit.inSeconds)")
            }
            try await Task.sleep(for: Self.pictureInterval)
        }
    }

    /// Reads the file and the server's log, and shows how things stand.
    private func look() async throws {
        let news = try reader.next()
        if !news.isEmpty { lastNews = .now }
        log += news
        tellOfOutage(news)
        let lanes = try await lanes()
        allDone = lanes.allSatisfy { $0.done == $0.total }
        screen.show(
            Picture(elapsed: elapsed, lanes: lanes, worker: worker, log: log, news: log.suffix(news.count))
        )
    }

    private func lanes() async throws -> [Lane] {
        let statuses = try await outbox.statuses(matching: "conversation/*", in: nil, limit: 1_000)
        let byQueue = Dictionary(uniqueKeysWithValues: statuses.map { ($0.queue.rawValue, $0) })
        return Script.conversations.map { conversation in
            let messages = enqueued.values.filter { $0.conversation == conversation.name }
            let status = messages.first.flatMap { byQueue[$0.queue.rawValue] }
            return Lane(
                conversation.name,
                total: messages.count,
                status: status,
                text: status?.head.flatMap { enqueued[$0]?.text } ?? "",
                hasWorker: worker != nil
            )
        }
    }

    private func tellOfOutage(_ news: [LogEntry]) {
        for entry in news {
            switch entry.event {
            case .unreachable where !isOutage:
                isOutage = true
                tell("The server is gone: an outage. All conversations wait, and try again by themselves.")
            case .delivered where isOutage, .recognised where isOutage:
                isOutage = false
                tell("The server is back.")
            default: break
            }
        }
    }
}
#endif
