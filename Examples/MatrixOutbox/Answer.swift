#if CommandLineTool && GRDB
import Foundation
import Sluice

/// What the server says.
struct Answer: Sendable {
    /// The fields of all answers that we read.
    struct Fields: Decodable, Sendable {
        var eventID: String?
        var contentURI: String?
        var token: String?
        var user: String?
        var uploadLimit: Int?
        var code: String?
        var error: String?
        var retryAfter: Int64?

        enum CodingKeys: String, CodingKey {
            case eventID = "event_id"
            case contentURI = "content_uri"
            case token = "access_token"
            case user = "user_id"
            case uploadLimit = "m.upload.size"
            case code = "errcode"
            case error
            case retryAfter = "retry_after_ms"
        }
    }

    let status: Int
    let fields: Fields
    /// The header `Retry-After`.
    var retryAfter: String?

    /// How long the server asks us to wait.
    var wait: Duration {
        RetryAfter.parse(milliseconds: fields.retryAfter) ?? RetryAfter.parse(retryAfter) ?? .seconds(5)
    }

    /// The refusal in the server's words.
    var reason: String {
        let words = [fields.code, fields.error].compactMap { $0 }
        return words.isEmpty ? "HTTP \(status)" : words.joined(separator: ": ")
    }
}
#endif
