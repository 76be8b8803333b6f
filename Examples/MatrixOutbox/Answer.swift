#if CommandLineTool && GRDB && Examples
import Foundation
import Sluice

/// What the server says.
struct Answer: Sendable {
    /// The fields of all answers that we read.
    struct Fields: Decodable, Sendable {
        var eventId: String?
        var contentUri: String?
        var accessToken: String?
        var userId: String?
        var errcode: String?
        var error: String?
        var retryAfterMs: Int64?
    }

    let status: Int
    let fields: Fields
    /// How long the server asks us to wait.
    let wait: Duration

    init(status: Int, retryAfter: String?, body: Data) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self.status = status
        // An error of something between us and the server has no JSON.
        fields = (try? decoder.decode(Fields.self, from: body)) ?? Fields()
        wait =
            RetryAfter.parse(milliseconds: fields.retryAfterMs) ?? RetryAfter.parse(retryAfter) ?? .seconds(5)
    }

    /// The refusal in the server's words.
    var reason: String {
        let words = [fields.errcode, fields.error].compactMap { $0 }
        return words.isEmpty ? "HTTP \(status)" : words.joined(separator: ": ")
    }
}
#endif
