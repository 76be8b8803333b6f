import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Calls on queues, with names and patterns of all kinds, and with limits.
extension CallCase {
    private static let actsOnPatterns: [CallOn<QueuePattern>] = [
        .init("actionSummaries(_:limit:)") { site, pattern in
            try await site.broker.actionSummaries(pattern, limit: 10).map(\.id)
        },
        .init("cancel(queues:)") { site, pattern in try await site.broker.cancel(queues: pattern) },
        .init("deadLetters(_:cause:after:limit:)") { site, pattern in
            try await site.broker.deadLetters(pattern, cause: nil, after: nil, limit: 10)
        },
        .init("hold(_:by:reason:for:)") { site, pattern in
            try await site.broker.hold(pattern, by: "me", reason: "why", for: .seconds(60))
        },
        .init("endHolds(matching:by:)") { site, pattern in
            try await site.broker.endHolds(matching: pattern, by: nil)
        },
        .init("observe(actions:after:)") { site, pattern in
            try await Self.first(site.broker.observe(actions: .matching(pattern), after: nil))
        },
        .init("observe(statuses:after:)") { site, pattern in
            try await Self.first(site.broker.observe(statuses: pattern, after: nil))
        },
        .init("purgeDeadLetters(_:cause:diedBefore:keepingNewest:)") { site, pattern in
            try await site.broker.purgeDeadLetters(pattern, cause: nil, diedBefore: nil, keepingNewest: 0)
        },
        .init("configure(_:_:)") { site, pattern in
            try site.broker.configure(pattern, QueueOptions(maximumDepth: 5))
        },
        .init("removeQueueOptions(_:)") { site, pattern in try await site.broker.removeQueueOptions(pattern)
        },
        .init("replaceQueueOptions(_:by:)") { site, pattern in
            try await site.broker.replaceQueueOptions(pattern, by: QueueOptions(maximumDepth: 5))
        },
        .init("removeRoute(_:kind:)") { site, pattern in try site.broker.removeRoute(pattern, kind: "note") },
        .init("removeRoutes(_:)") { site, pattern in try site.broker.removeRoutes(pattern) },
        .init("requeueAll(_:cause:)") { site, pattern in try await site.broker.requeueAll(pattern, cause: nil)
        },
        .init("retryNow(_:)") { site, pattern in try await site.broker.retryNow(pattern) },
        .init("statuses(matching:in:limit:)") { site, pattern in
            try await site.broker.statuses(matching: pattern, in: nil, limit: 10)
        },
    ]

    /// The snapshot with which observing begins.
    private static func first<Updates: AsyncSequence>(_ updates: Updates) async throws -> Any {
        for try await update in updates { return update }
        return "nothing"
    }

    static let patterns: [CallCase] = actsOnPatterns.flatMap { act in
        oddPatterns.map { pattern in
            CallCase(act.call, words(for: pattern)) { site in
                try site.route()
                for queue in ["q", "q/1", "q/2", "mail/", "mail/x", "\u{E9}", "e\u{301}"] {
                    try await site.broker.enqueue(Note("a", in: QueueName(queue)))
                }
                try await site.broker.hold("q/*", by: "me", reason: "", for: nil)
                for time in ["once", "twice"] { await site.note(time) { try await act.body(site, pattern) } }
                await site.note("statuses") {
                    try await site.broker.statuses(matching: "*", in: nil, limit: 10)
                }
                await site.note("holds") { try await site.broker.holds() }
            }
        }
    }

    private static let listings: [CallOn<Int>] = [
        .init("actionSummaries(_:limit:)") { site, limit in
            try await site.broker.actionSummaries("*", limit: limit)
        },
        .init("actions(tag:limit:)") { site, limit in try await site.broker.actions(tag: "t", limit: limit) },
        .init("auditEntries(limit:)") { site, limit in try await site.broker.auditEntries(limit: limit) },
        .init("deadLetters(_:cause:after:limit:)") { site, limit in
            try await site.broker.deadLetters("*", cause: nil, after: nil, limit: limit)
        },
        .init("purgeDeadLetters(_:cause:diedBefore:keepingNewest:)") { site, limit in
            try await site.broker.purgeDeadLetters("*", cause: nil, diedBefore: nil, keepingNewest: limit)
        },
        .init("statuses(matching:in:limit:)") { site, limit in
            try await site.broker.statuses(matching: "*", in: nil, limit: limit)
        },
    ]

    static let waits: [CallCase] = oddPatterns.map { pattern in
        CallCase("waitUntilIdle(_:)", words(for: pattern)) { site in
            try site.route()
            for queue in ["q", "q/1", "mail/", "mail/x"] {
                try await site.broker.enqueue(Note("a", in: QueueName(queue)))
            }
            try await site.broker.hold("q/*", by: "me", reason: "", for: nil)
            try await site.begin()
            await site.note("wait") { try await site.broker.waitUntilIdle(pattern) }
            try await site.settle()
        }
    }

    static let limits: [CallCase] = listings.flatMap { list in
        [Int.min, -1, 0, 1, 2, 1_000, Int.max].map { limit in
            CallCase(list.call, "a limit of \(limit)") { site in
                try site.route()
                for text in ["fail", "fail", "fail"] { try await site.broker.enqueue(Note(text, in: "dead")) }
                for queue in ["q/2", "q/1", "q/3"] {
                    try await site.broker.enqueue(
                        Note("retry", in: QueueName(queue)),
                        EnqueueOptions(tag: "t")
                    )
                    try await site.broker.audit("act on \(queue)", by: "me", result: "done")
                }
                try await site.begin()
                try await site.settle()
                await site.note("list") { try await list.body(site, limit) }
            }
        }
    }
}
