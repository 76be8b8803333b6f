internal import SluiceSQLite

/// A route as a process that runs the queues shows it to others: a row of `sluice_route_rows`.
package struct ShownRoute: Sendable, Hashable {
    let pattern: QueuePattern
    /// `nil` is any kind.
    let kind: String?

    init(_ pattern: QueuePattern, _ kind: String?) { (self.pattern, self.kind) = (pattern, kind) }

    /// Reads the routes of some processes, by their epochs.
    static func all(_ connection: Connection) throws(SQLiteError) -> [Int64: [ShownRoute]] {
        let rows = try connection.cached("SELECT epoch, pattern, kind FROM sluice_route_rows").all {
            ($0.int64(0), ShownRoute(QueuePattern($0.text(1)), $0.optionalText(2)))
        }
        return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
    }

    func matches(_ queue: QueueName, kind: String) -> Bool {
        guard self.kind == nil || self.kind == kind, let form = try? pattern.form() else { return false }
        return form.matches(queue)
    }
}
