#if Web
internal import Foundation
internal import Sluice

/// An action that a form asks to enqueue.
struct EnqueueForm: Sendable {
    /// The name of the act in a form.
    static let act = "enqueue"
    /// The text of the button.
    static let name = "Enqueue"
    static let consequence = "The action is stored, and runs when a process has a route for it."

    private let queue: String
    private let kind: String

    init(_ form: Form) throws(PageError) {
        (queue, kind) = (try form.required("queue"), try form.required("kind"))
    }

    /// Whether a form asks for one.
    static func isAsked(by form: Form) -> Bool { form["act"] == act }

    /// For the question and for the audit log.
    var sentence: String { "Enqueue an action of kind \(kind) in queue \(queue)" }

    /// Where a browser goes afterwards, below the prefix.
    var place: (path: String, query: Form) { ("/queue", Form().setting("name", queue)) }

    /// - Returns: What happened.
    func perform(_ payload: String, _ broker: Broker) async throws -> String {
        let action = RawAction(queue: QueueName(queue), kind: kind, payload: payload)
        let ids = try await broker.enqueue(raw: [action])
        return "stored as action \(ids.first?.description ?? "")"
    }
}

extension Form {
    /// The new payload, on one line; numbers stay as they are written.
    func payload() throws(PageError) -> String {
        // Editors write a mark of the byte order, which is no JSON.
        let ignored = CharacterSet.whitespacesAndNewlines.union(["\u{FEFF}"])
        let text = try required("payload").trimmingCharacters(in: ignored)
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        } catch {
            let reason = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String
            let words = Self.withLine(reason ?? error.localizedDescription, of: text)
            throw PageError(.invalid, "the payload is no JSON: \(words)")
        }
        return JSONTree(text)?.compact ?? text
    }

    /// Replaces the number of a byte by its line and column, which an editor shows.
    private static func withLine(_ reason: String, of text: String) -> String {
        reason.replacing(#/character (\d+)/#) { match in
            let start = text.utf8.prefix(Int(match.1) ?? 0)
            let lines = start.split(separator: 10, omittingEmptySubsequences: false)
            let column = lines.last.map { String(decoding: $0, as: UTF8.self).count + 1 } ?? 1
            return "line \(lines.count), column \(column)"
        }
    }
}
#endif
