#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB

/// How far a message is.
enum Delivery: Equatable, Sendable {
    case sent
    case sending
    case waiting
    case retrying(at: Date)
    case refused(String)
}

/// A message, as a screen shows it.
struct Line: Identifiable, Sendable {
    var message: Message
    var delivery: Delivery

    var id: String { message.id }
}

extension Outbox {
    /// The messages of an account, each with how far it is: all of one moment.
    func lines(of account: Account) async throws -> [Line] {
        try await pool.read { db in
            let messages = try Message.filter { $0.account == account.id }.order(Column.rowID).fetchAll(db)
            let queues = "chat/\(account.id)/%"
            let actions = Dictionary(
                grouping: try ActionRecord.filter { $0.queue.like(queues) }.fetchAll(db),
                by: \.tag
            )
            let dead = Dictionary(
                grouping: try DeadLetterRecord.filter { $0.queue.like(queues) }.fetchAll(db),
                by: \.tag
            )
            return messages.map { message in
                let tag = "message-\(message.id)"
                let delivery = delivery(of: message, actions[tag] ?? [], dead[tag] ?? [])
                return Line(message: message, delivery: delivery)
            }
        }
    }

    private func delivery(
        of message: Message,
        _ actions: [ActionRecord],
        _ dead: [DeadLetterRecord]
    ) -> Delivery {
        if let refused = dead.min(by: { $0.id < $1.id }) { return .refused(refused.error) }
        if actions.contains(where: { $0.runningSince != nil }) { return .sending }
        if let date = actions.compactMap(\.nextAttemptAt).min() { return .retrying(at: date) }
        if !actions.isEmpty { return .waiting }
        return message.sentText == message.text ? .sent : .refused("removed by hand")
    }

    /// Why the messages of a conversation wait, in words for their sender; `nil` if nothing is in the way.
    func obstacle(of conversation: String, of account: Account) async throws -> String? {
        let queue = QueueName("chat/\(account.id)/\(conversation)")
        for reason in try await broker.status(of: queue).because {
            switch reason {
            case .gate("network", _): return "no network"
            case .gate(let gate, let until) where gate.rawValue.hasPrefix("server:"):
                return "the server is busy until \(until.map { "\($0)" } ?? "later")"
            case .gate: return "log in again"
            case .held(_, let reason, _): return reason
            default: continue
            }
        }
        return nil
    }

    /// Calls `show` with the messages of an account now, and after each change of their actions.
    func follow(_ account: Account, show: ([Line]) -> Void) async throws {
        for try await _ in broker.observe(actions: .matching(account.queues)) {
            show(try await lines(of: account))
        }
    }
}
#endif
