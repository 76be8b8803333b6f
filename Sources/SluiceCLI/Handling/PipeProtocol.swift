#if CommandLineTool
internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The lines that a handler process gets and gives; `sluice help run` documents them.
enum PipeProtocol {
    /// The longest answer.
    static let maximumAnswerByteCount = 1_024 * 1_024

    static func request(_ payload: String, _ attempt: Attempt) -> String {
        JSONText.object([
            ("id", attempt.id.description),
            ("queue", JSONText.string(attempt.queue.rawValue)),
            ("kind", JSONText.string(attempt.kind)),
            ("attempt", String(attempt.number)),
            ("idempotency_key", JSONText.string(attempt.idempotencyKey)),
            ("payload", JSONText.onOneLine(payload)),
        ])
    }

    static func cancellation(_ id: Int64) -> String {
        JSONText.object([("cancel", String(id))])
    }

    /// Reads a line of the handler.
    static func answer(_ line: [UInt8]) throws(Refusal) -> Answer {
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(line))
        } catch DecodingError.keyNotFound(let key, _) {
            throw Refusal("'\(key.stringValue)' is missing")
        } catch DecodingError.typeMismatch(_, let context) {
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw Refusal(path.isEmpty ? "it is no JSON object" : "'\(path)' has the wrong type")
        } catch {
            throw Refusal("it is not valid JSON")
        }
    }

    /// What the handler says about one action.
    struct Answer: Decodable {
        let id: Int64
        /// The attempt that is meant; without it, the one in work.
        let attempt: Int?
        let outcome: String
        let after: Double?
        let reason: String?
    }
}

extension PipeProtocol.Answer {
    /// What follows for the attempt; a failure is a retry by the policy.
    var result: Result<Outcome, HandlerError> {
        switch outcome {
        case "success": return .success(.success)
        case "fail": return .success(.fail(reason ?? "the handler failed it"))
        case "release": return .success(.release)
        case "retry":
            if let after { return .success(.retry(after: .seconds(min(max(after, 0), Seconds.longest)))) }
            return reason.map { .failure(HandlerError($0)) } ?? .success(.retry)
        default: return .failure(HandlerError("the handler gave the unknown outcome '\(outcome.prefix(40))'"))
        }
    }

    /// Whether the outcome is one that there is.
    var hasKnownOutcome: Bool { ["success", "retry", "fail", "release"].contains(outcome) }
}

/// Why an attempt in a handler process failed.
struct HandlerError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
#endif
