#if PostgreSQL
import Foundation
import Sluice

/// The action of the load on a server: a line of a queue.
struct Line: Action {
    static let kind = "line"
    let number: Int
    let place: String
    /// Makes it as long as the load says.
    var padding = ""

    var queue: QueueName { QueueName(place) }

    /// The text of an error that the server cannot store.
    static let unstorable = "it cannot be stored"

    /// The line of a stored action.
    static func number(in payload: String) -> Int {
        do { return try JSONDecoder().decode(Line.self, from: Data(payload.utf8)).number } catch {
            preconditionFailure("a payload: \(error)")
        }
    }

    /// Whether it is enqueued when nothing is disturbed any more.
    var isPing: Bool { number >= Self.firstPing }
    static let firstPing = 100_000
}
#endif
