internal import SluiceSQLite

#if canImport(FoundationEssentials)
internal import class FoundationEssentials.JSONEncoder
#else
internal import class Foundation.JSONEncoder
#endif

/// A route as a process that runs the queues shows it to others, in the column `routes` of its row.
package struct ShownRoute: Sendable, Hashable {
    let pattern: QueuePattern
    /// `nil` is any kind.
    let kind: String?

    init(_ pattern: QueuePattern, _ kind: String?) { (self.pattern, self.kind) = (pattern, kind) }

    /// Reads the routes of all processes, by their epochs; none of a text that somebody has damaged.
    static func all(_ connection: Connection) throws(SQLiteError) -> [Int64: [ShownRoute]] {
        let rows = try connection.cached(
            """
            SELECT r.epoch, t.key, k.value
            FROM sluice_runner_rows AS r CROSS JOIN json_each(iif(json_valid(r.routes), r.routes, '{}')) AS t
            LEFT JOIN json_each(iif(t.type = 'array', t.value, '[]')) AS k
            """
        ).all { ($0.int64(0), ShownRoute(QueuePattern($0.text(1)), $0.optionalText(2))) }
        return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
    }

    /// The text of the column.
    static func text(_ routes: Set<ShownRoute>) -> String {
        let patterns = Dictionary(grouping: routes, by: \.pattern.rawValue).mapValues { routes in
            routes.contains { $0.kind == nil } ? nil : routes.compactMap(\.kind).sorted()
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(patterns), as: UTF8.self)
        } catch {
            preconditionFailure("texts cannot be encoded: \(error)")
        }
    }

    func matches(_ queue: QueueName, kind: String) -> Bool {
        guard self.kind == nil || self.kind == kind, let form = try? pattern.form() else { return false }
        return form.matches(queue)
    }
}
