#if CommandLineTool
internal import Sluice
internal import SluiceJSON

/// An action as a line of JSON, for `sluice export` and `sluice import`.
enum TransferLine {
    /// The fields, in the order in which they are written.
    ///
    /// `id` is written but not read.
    static let fields = [
        "id", "queue", "kind", "sort_type", "sort_key", "version", "tag", "gate", "not_before", "expires_at",
        "starts_groups", "member_of", "trace", "payload",
    ]

    static func text(_ action: TransferredAction) -> String {
        var members = [
            ("id", action.id.description),
            ("queue", JSONText.string(action.queue.rawValue)),
            ("kind", JSONText.string(action.kind)),
        ]
        if let key = key(action.sortKey) {
            members.append(("sort_type", JSONText.string(action.sortKey.kind.rawValue)))
            members.append(("sort_key", key))
        }
        if action.version != 1 { members.append(("version", String(action.version))) }
        for (name, value) in [
            ("tag", action.tag), ("gate", action.gate?.rawValue),
            ("not_before", action.notBefore.map(Times.text)),
            ("expires_at", action.expiresAt.map(Times.text)),
        ] {
            if let value { members.append((name, JSONText.string(value))) }
        }
        for (name, groups) in [
            ("starts_groups", action.groups.started), ("member_of", action.groups.joined),
        ] where !groups.isEmpty {
            let names = groups.map { JSONText.string($0.rawValue) }
            members.append((name, "[\(names.joined(separator: ","))]"))
        }
        if let trace = action.trace { members.append(("trace", JSONText.onOneLine(trace))) }
        members.append(("payload", JSONText.onOneLine(action.payload)))
        return JSONText.object(members.map { (name: $0.0, value: $0.1) })
    }

    /// Reads a line; `nil` for an empty one.
    static func action(_ bytes: [UInt8]) throws(Refusal) -> TransferredAction? {
        if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return nil }
        guard let line = String(validating: bytes, as: UTF8.self) else { throw Refusal("it is not UTF-8") }
        let members = try JSONMembers(line)
        if let stranger = members.values.keys.filter({ !fields.contains($0) }).min() {
            throw Refusal("it has a field '\(stranger)' that no action has; see `sluice help import`")
        }
        guard let queue = try members.text("queue") else { throw Refusal("the field 'queue' is missing") }
        guard let kind = try members.text("kind") else { throw Refusal("the field 'kind' is missing") }
        // A payload may be `null`, unlike any other field.
        guard let payload = members.values["payload"] else { throw Refusal("the field 'payload' is missing") }
        var action = TransferredAction(
            queue: QueueName(queue),
            kind: kind,
            sortKey: try sortKey(members),
            payload: String(decoding: payload, as: UTF8.self)
        )
        action.version = try members.integer("version") ?? 1
        action.tag = try members.text("tag")
        action.gate = try members.text("gate").map { GateName($0) }
        action.notBefore = try time(members, "not_before")
        action.expiresAt = try time(members, "expires_at")
        action.groups = ActionGroups(
            started: try members.texts("starts_groups").map { GroupName($0) },
            joined: try members.texts("member_of").map { GroupName($0) }
        )
        action.trace = members.raw("trace")
        return action
    }

    /// Returns the key as JSON; `nil` in order of arrival.
    static func key(_ key: SortKey) -> String? {
        switch key.value {
        case .arrival: nil
        case .integer(let value): String(value)
        case .time(let value): JSONText.string(Times.text(value))
        // JSON has no infinities.
        case .real(let value): value.isFinite ? "\(value)" : JSONText.string("\(value)")
        case .text(let value), .composite(let value): JSONText.string(value)
        }
    }

    private static func sortKey(_ members: JSONMembers) throws(Refusal) -> SortKey {
        let name = try members.text("sort_type") ?? SortKey.Kind.arrival.rawValue
        guard let kind = SortKey.Kind(rawValue: name) else {
            let types = "arrival, integer, date, real, text and composite:…"
            throw Refusal("the field 'sort_type' is none of \(types)")
        }
        guard kind != .arrival else {
            guard members.raw("sort_key") == nil else { throw Refusal("with 'sort_key' goes 'sort_type'") }
            return .arrival
        }
        guard let raw = members.raw("sort_key") else { throw Refusal("the field 'sort_key' is missing") }
        switch kind {
        case .integer:
            guard let value = Int64(raw) else { throw Refusal("the field 'sort_key' is no integer") }
            return .integer(value)
        case .real:
            let text = raw.hasPrefix("\"") ? String(raw.dropFirst().dropLast()) : raw
            guard let value = Double(text), !value.isNaN else {
                throw Refusal("the field 'sort_key' is no number")
            }
            return .real(value)
        case .text:
            guard let text = try members.text("sort_key") else {
                throw Refusal("the field 'sort_key' is missing")
            }
            return .text(text)
        case .date:
            guard let time = try time(members, "sort_key") else {
                throw Refusal("the field 'sort_key' is missing")
            }
            return .time(time)
        default:
            let text = try members.text("sort_key")
            guard let key = text.flatMap({ SortKey(compositeText: $0, kind) }) else {
                throw Refusal("the field 'sort_key' is no key of the type \(kind)")
            }
            return key
        }
    }

    /// Reads a time: ISO 8601, or microseconds since 1970 as digits, for years beyond 9999.
    private static func time(_ members: JSONMembers, _ field: String) throws(Refusal) -> Timestamp? {
        guard let raw = members.raw(field) else { return nil }
        if let microseconds = Int64(raw) { return Timestamp(microseconds: microseconds) }
        guard let text = try members.text(field) else { return nil }
        if let microseconds = Int64(text), text.count > 4 { return Timestamp(microseconds: microseconds) }
        guard let time = DateTime(text) else { throw Refusal("the field '\(field)' is no ISO 8601 date") }
        return Timestamp(microseconds: time.microseconds)
    }
}
#endif
