import Sluice

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

/// What follows some messages: it is enqueued in the transaction that settles them.
struct Acknowledgement: Action {
    static let kind = "acknowledgement"
    var conversation: String
    var line: Int
    var queue: QueueName { "acknowledgement/\(conversation)" }
}

/// Stores messages one after the other: the broker does, or the application together with a row of its own.
struct Enqueuing {
    let broker: Broker
    let history: History
    let application: any Application

    /// Spreads them over the time until `end`.
    func enqueue(_ share: Share, until end: Int64) async throws {
        for (index, message) in share.messages.enumerated() {
            history.append("e\t\(HistoryWorker.now())\t\(message.queue)\t\(message.line)")
            let id = try await message.hasRow ? store(message) : enqueue(message)
            history.append("E\t\(HistoryWorker.now())\t\(message.queue)\t\(message.line)\t\(id)")
            let left = end - HistoryWorker.now()
            if left > 0 {
                try await SystemClock.sleep(.nanoseconds(left / Int64(share.messages.count - index)))
            }
        }
    }

    /// The application's row tells it from what an earlier life has stored.
    private func store(_ message: Message) async throws -> ActionID {
        if message.changesItsMind {
            do {
                _ = try await application.store(message, isInVain: true)
            } catch HistoryWorkerError.changedItsMind {}
        }
        return try await application.store(message, isInVain: false)
    }

    /// A key tells it from what an earlier life has stored without having been told.
    private func enqueue(_ message: Message) async throws -> ActionID {
        let key = DeduplicationKey("line \(message.line)", retention: .seconds(86_400))
        while true {
            do {
                return try await broker.enqueue(message, EnqueueOptions(key: key)).id
            } catch let error as SluiceError where error.code == .diskFull {
                try await SystemClock.sleep(.milliseconds(50))
            }
        }
    }
}
