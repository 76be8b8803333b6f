internal import Foundation
internal import Sluice

/// A chat message, with the fields that the sample data has.
struct Message: Action {
    static let kind = "message"

    var conversation: String
    var sentAt: String
    var sender: String
    var text: String
    /// Not part of the payload: the workload says which queue.
    var queue: QueueName = "conversation"

    private enum CodingKeys: String, CodingKey { case conversation, sentAt, sender, text }
}

extension Message {
    /// The messages of a file with one JSON object a line.
    static func read(_ path: String) throws -> [Message] {
        let decoder = JSONDecoder()
        return try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n"))
            .map { try decoder.decode(Message.self, from: Data($0)) }
    }

    /// Messages as long as short ones of a chat are.
    static func madeUp(_ count: Int) -> [Message] {
        (0..<count).map { number in
            Message(
                conversation: "made-up-\(number % 100)",
                sentAt: "2026-01-01T00:00:00.\(100_000 + number)",
                sender: ["Ada", "Grace", "Edsger"][number % 3],
                text: "message \(number), " + String(repeating: "some words more, ", count: 3 + number % 4)
            )
        }
    }

    /// Messages whose texts are those of several, one after the other, and have a number of bytes at least.
    ///
    /// If one message is longer than that, only a part of it is used.
    static func joined(_ messages: [Message], size: Int, count: Int) -> [Message] {
        (0..<count).map { number in
            var next = number
            var message = messages[number % messages.count]
            while message.text.utf8.count < size {
                next += 1
                message.text += "\n" + messages[next % messages.count].text
            }
            if number == next { message.text = String(message.text.prefix(size)) }
            return message
        }
    }
}
