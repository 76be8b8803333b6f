#if CommandLineTool
internal import Sluice

/// How to make actions from the lines of `enqueue --from`.
struct LinePlan {
    enum Queue {
        case fixed(String)
        case field(String)
    }

    let queue: Queue
    let queuePrefix: String
    let kind: String
    let version: Int
    /// The fields of the sort key's parts; empty in order of arrival.
    let sortFields: [String]
    let sortType: SortType

    /// Returns the action of a line; `nil` for an empty one.
    func action(_ bytes: [UInt8]) throws(Refusal) -> RawAction? {
        if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return nil }
        guard let payload = String(validating: bytes, as: UTF8.self) else { throw Refusal("it is not UTF-8") }
        let line = try JSONLine(payload, fields: fields)
        let sortKey = try sortFields.isEmpty ? nil : sortType.key(of: sortFields, in: line)
        return RawAction(
            queue: QueueName(queuePrefix + (try queueName(line))),
            kind: kind,
            version: version,
            sortKey: sortKey ?? .arrival,
            payload: payload
        )
    }

    /// The fields that each line needs.
    private var fields: [String] {
        var fields = sortFields
        if case .field(let name) = queue { fields.append(name) }
        return fields
    }

    private func queueName(_ line: JSONLine) throws(Refusal) -> String {
        switch queue {
        case .fixed(let name): return name
        case .field(let field):
            switch line[field] {
            case .text(let name): return name
            case .integer(let number): return String(number)
            case .missing: throw Refusal("the field '\(field)' is missing")
            case let other: throw Refusal("the field '\(field)' is \(other.article), not the name of a queue")
            }
        }
    }
}
#endif
