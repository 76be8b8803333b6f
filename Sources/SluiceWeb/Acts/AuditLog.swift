#if Web
internal import Foundation
internal import Logging
internal import Synchronization

/// Who did what and when: in the application's log, and the last ones in memory for the page.
final class AuditLog: Sendable {
    struct Entry: Sendable {
        let time: Date
        let person: String
        let act: String
        let result: String
    }

    private static let limit = 1_000

    private let logger: Logger
    private let memory = Mutex<[Entry]>([])

    init(_ logger: Logger) { self.logger = logger }

    /// The entries, the newest first.
    var entries: [Entry] { memory.withLock { $0.reversed() } }

    func note(_ act: String, by person: Operator, _ result: String) {
        logger.notice(
            "An operator has acted",
            metadata: [
                "sluice.operator": "\(person.name)", "sluice.act": "\(act)", "sluice.result": "\(result)",
            ]
        )
        let entry = Entry(time: Date(), person: person.name, act: act, result: result)
        memory.withLock { entries in
            entries.append(entry)
            if entries.count > Self.limit { entries.removeFirst() }
        }
    }
}
#endif
