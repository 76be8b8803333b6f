#if CommandLineTool
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The lines from and to a handler process; `sluice help run` documents them.
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
        guard let text = String(validating: line, as: UTF8.self) else {
            throw Refusal("it is not valid JSON")
        }
        do {
            return try JSONDecoder().decode(Answer.self, checking: withoutHalfPairs(text))
        } catch DecodingError.keyNotFound(let key, _) {
            throw Refusal("'\(key.stringValue)' is missing")
        } catch DecodingError.typeMismatch(_, let context) {
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw Refusal(path.isEmpty ? "it is no JSON object" : "'\(path)' has the wrong type")
        } catch {
            throw Refusal("it is not valid JSON")
        }
    }

    /// Replaces the escape of half a pair of surrogates, which is no text, as decoders of UTF-8 do.
    ///
    /// Handlers send them in a reason with a file's name that is not UTF-8, and the outcome counts.
    private static func withoutHalfPairs(_ text: String) -> String {
        // Most answers have no escape at all.
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
        var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
        while let first = rest.first {
            let length = first != UInt8(ascii: "\\") ? 1 : unit(rest) == nil ? 2 : 6
            switch unit(rest) {
            case .some(0xD800...0xDBFF) where (0xDC00...0xDFFF).contains(unit(rest.dropFirst(6)) ?? 0):
                bytes += rest.prefix(12)
                rest = rest.dropFirst(12)
                continue
            case .some(0xD800...0xDFFF): bytes += Array(#"\uFFFD"#.utf8)
            default: bytes += rest.prefix(length)
            }
            rest = rest.dropFirst(length)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the escape of a code unit at the start of a text.
    private static func unit(_ text: ArraySlice<UInt8>) -> UInt16? {
        guard text.starts(with: #"\u"#.utf8) else { return nil }
        return UInt16(String(decoding: text.dropFirst(2).prefix(4), as: UTF8.self), radix: 16)
    }

    /// Returns the action of a line that is not a valid answer: the id in its object, as far as it can be
    /// read.
    static func subject(of line: [UInt8]) -> Int64? {
        var (depth, isText, isEscaped) = (0, false, false)
        var (start, name) = (line.startIndex, line[..<line.startIndex])
        for (index, byte) in line.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if isText {
                isEscaped = byte == UInt8(ascii: "\\")
                guard byte == UInt8(ascii: "\"") else { continue }
                isText = false
                if depth == 1 { name = line[start..<index] }
            } else {
                switch byte {
                case UInt8(ascii: "\""): (isText, start) = (true, index + 1)
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ":") where depth == 1 && name.elementsEqual("id".utf8):
                    return number(line[(index + 1)...])
                case UInt8(ascii: ","): name = []
                default: break
                }
            }
        }
        return nil
    }

    /// Reads a number, in quotes or not, that ends before the next member or with the object.
    private static func number(_ text: ArraySlice<UInt8>) -> Int64? {
        var rest = text.drop(while: isSpace)
        let isQuoted = rest.first == UInt8(ascii: "\"")
        if isQuoted { rest = rest.dropFirst() }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        if isQuoted {
            guard rest.first == UInt8(ascii: "\"") else { return nil }
            rest = rest.dropFirst()
        }
        rest = rest.drop(while: isSpace)
        guard rest.first == UInt8(ascii: ",") || rest.first == UInt8(ascii: "}") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// A handler's answer about one action.
    struct Answer: Decodable {
        let id: Int64
        /// The number of the attempt; without it, the attempt that was sent.
        let attempt: Int?
        let outcome: String
        let after: Double?
        let reason: String?

        /// Makes the answer that ends an attempt after an unreadable line, since nothing else would end it.
        init(unreadable reason: String, of id: Int64) {
            (self.id, attempt, outcome, after) = (id, nil, "retry", nil)
            self.reason = "the handler's answer cannot be read: \(reason)"
        }
    }
}

extension PipeProtocol.Answer {
    /// The result of the attempt; a failure is a retry by the policy.
    var result: Result<Outcome, HandlerError> {
        switch outcome {
        case "success": return .success(.success)
        case "fail": return .success(.fail(reason ?? "the handler failed it"))
        case "release": return .success(.release)
        case "retry":
            if let delay = after.flatMap(Seconds.delay) {
                return .success(.retry(after: delay, because: reason))
            }
            return .success(reason.map { .retry(because: $0) } ?? .retry)
        default: return .failure(HandlerError("the handler gave the unknown outcome '\(outcome.prefix(40))'"))
        }
    }

    /// Whether the outcome is valid.
    var hasKnownOutcome: Bool { ["success", "retry", "fail", "release"].contains(outcome) }
}
#endif
