/// The queues of a route or of options: one name, or all names with a prefix.
///
/// | pattern | matches | does not match |
/// | --- | --- | --- |
/// | `outbox` | `outbox` | `outbox/1` |
/// | `conversation/*` | `conversation/42`, `conversation/42/media` | `conversation`, `conversations/1` |
/// | `*` | every name | |
///
/// If several patterns match a name, the exact one wins, then the longest. A `*` anywhere else, or a prefix
/// that does not end in `/`, throws ``SluiceError/Code/invalidPattern`` when the pattern is used.
public struct QueuePattern: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The pattern as given.
    public let rawValue: String
    /// Makes a pattern; it is checked when it is used.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    /// Every queue.
    public static let all = QueuePattern("*")

    package enum Form: Sendable {
        case exact(QueueName)
        /// All names that begin with these bytes; empty for `*`.
        case prefix([UInt8])

        /// The pattern as text.
        package var rawValue: String {
            switch self {
            case .exact(let queue): queue.rawValue
            case .prefix(let bytes): "\(String(decoding: bytes, as: UTF8.self))*"
            }
        }
    }

    package func form() throws(SluiceError) -> Form {
        let stars = rawValue.utf8.count { $0 == UInt8(ascii: "*") }
        guard stars > 0 else {
            let name = QueueName(rawValue)
            try name.validate()
            return .exact(name)
        }
        guard stars == 1, rawValue == "*" || rawValue.utf8.reversed().starts(with: "*/".utf8) else {
            throw SluiceError(
                .invalidPattern,
                "the pattern '\(rawValue)' is neither a queue name nor a prefix that ends in '/*', nor '*': "
                    + "write it as 'mail', 'mail/*' or '*'"
            )
        }
        return .prefix(Array(rawValue.utf8.dropLast()))
    }

    /// Refuses a name that looks like another library's pattern, as a route or options would match nothing.
    package func formOfRule() throws(SluiceError) -> Form {
        let form = try form()
        guard case .exact = form,
            let last = rawValue.split(separator: "/", omittingEmptySubsequences: false).last,
            rawValue.contains("/")
        else { return form }
        func isWord(_ text: Substring) -> Bool {
            !text.isEmpty && text.allSatisfy { $0.isLetter || $0 == "_" }
        }
        let isPlaceholder =
            last.hasPrefix(":") && isWord(last.dropFirst())
            || last.hasPrefix("{") && last.hasSuffix("}") && isWord(last.dropFirst().dropLast())
        guard last.isEmpty || isPlaceholder else { return form }
        throw SluiceError(
            .invalidPattern,
            "the pattern '\(rawValue)' is the name of one queue, as written; for all queues that "
                + "begin with it write '\(rawValue.dropLast(last.count))*'"
        )
    }

    /// Whether both patterns have the same bytes.
    public static func == (left: QueuePattern, right: QueuePattern) -> Bool {
        left.rawValue.utf8.elementsEqual(right.rawValue.utf8)
    }

    /// Feeds the bytes of the pattern to `hasher`.
    public func hash(into hasher: inout Hasher) { QueueName(rawValue).hash(into: &hasher) }
    /// Makes a pattern from a literal; it is checked when it is used.
    public init(stringLiteral value: String) { self.init(value) }
    /// The pattern as given.
    public var description: String { rawValue }
}
