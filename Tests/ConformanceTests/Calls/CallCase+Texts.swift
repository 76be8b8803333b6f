import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Calls with texts, times and payloads that users get wrong.
extension CallCase {
    private static let oddTexts = [
        "", " ", "a", "a\0b", "line\nbreak", "\u{1B}[31m", "\u{E9}", String(repeating: "x", count: 129),
        String(repeating: "x", count: 513), String(repeating: "\u{E4}", count: 2_000),
    ]

    private static func name(_ text: String) -> String {
        text.utf8.count > 100
            ? "\(text.utf8.count) bytes" : "'\(text.debugDescription.dropFirst().dropLast())'"
    }

    private static let actsWithTexts: [CallOn<String>] = [
        .init("actions(tag:limit:)") { site, text in try await site.broker.actions(tag: text, limit: 10) },
        .init("audit(_:by:result:)") { site, text in try await site.broker.audit(text, by: text, result: text)
        },
        .init("cancel(tag:)") { site, text in try await site.broker.cancel(tag: text) },
        .init("closeGate(_:isPersistent:for:)") { site, text in
            try await site.broker.closeGate(GateName(text), isPersistent: true, for: nil)
        },
        .init("openGate(_:isPersistent:spread:)") { site, text in
            try await site.broker.openGate(GateName(text), isPersistent: true, spread: .zero)
        },
        .init("hold(_:by:reason:for:)", "the holder") { site, text in
            try await site.broker.hold("q", by: text, reason: "", for: nil)
        },
        .init("hold(_:by:reason:for:)", "the reason") { site, text in
            try await site.broker.hold("q", by: "me", reason: text, for: nil)
        },
        .init("endHolds(matching:by:)") { site, text in
            try await site.broker.endHolds(matching: "*", by: text)
        },
        .init("openPayload(_:kind:version:)") { site, text in
            try site.broker.openPayload(text, kind: "note", version: 1)
        },
        .init("setTag(_:of:)") { site, text in try await site.broker.setTag(text, of: ActionID(rawValue: 1))
        },
        .init("skipHead(of:only:reason:)", "the reason") { site, text in
            try await site.broker.skipHead(of: "q", only: nil, reason: text)
        },
        .init("skipHead(of:only:reason:)", "the queue") { site, text in
            try await site.broker.skipHead(of: QueueName(text), only: nil, reason: nil)
        },
        .init("status(of:)") { site, text in try await site.broker.status(of: QueueName(text)) },
        .init("upgrade(kind:from:_:)") { site, text in try site.broker.upgrade(kind: text, from: 1) { $0 } },
        .init("enqueue(_:_:notBefore:)", "the queue") { site, text in
            try await site.broker.enqueue(Note("a", in: QueueName(text))).id
        },
        .init("enqueue(_:_:notBefore:)", "the tag") { site, text in
            try await site.broker.enqueue(Note("a", in: "n"), EnqueueOptions(tag: text)).id
        },
        .init("enqueue(_:_:notBefore:)", "the gate") { site, text in
            try await site.broker.enqueue(Note("a", in: "n"), EnqueueOptions(gate: GateName(text))).id
        },
        .init("enqueue(_:_:notBefore:)", "the key") { site, text in
            try await site.broker.enqueue(Note("a", in: "n"), EnqueueOptions(key: DeduplicationKey(text))).id
        },
        .init("enqueue(_:_:notBefore:)", "the sort key") { site, text in
            try await site.broker.enqueue(Note("a", in: "n", order: .text(text))).id
        },
        .init("enqueue(raw:_:options:)", "the kind") { site, text in
            try await site.broker.enqueue(
                raw: [RawAction(queue: "n", kind: text, payload: "{}")],
                EnqueueOptions(),
                options: nil
            )
        },
        .init("enqueue(raw:_:options:)", "the payload") { site, text in
            try await site.broker.enqueue(
                raw: [RawAction(queue: "n", kind: "k", payload: text)],
                EnqueueOptions(),
                options: nil
            )
        },
    ]

    static let texts: [CallCase] = actsWithTexts.flatMap { act in
        oddTexts.map { text in
            CallCase(act.call, [act.words, name(text)].filter { !$0.isEmpty }.joined(separator: " ")) {
                site in
                try site.route()
                try await site.broker.enqueue(Note("a", in: "q"))
                for time in ["once", "twice"] { await site.note(time) { try await act.body(site, text) } }
                await site.note("actions") { try await site.broker.actionSummaries("*", limit: 10) }
                await site.note("first") { try await site.broker.action(ActionID(rawValue: 1)) }
                await site.note("second") { try await site.broker.action(ActionID(rawValue: 2)) }
                await site.note("gates") { try await site.broker.gates() }
                await site.note("holds") { try await site.broker.holds() }
                await site.note("audit") { try await site.broker.auditEntries(limit: 10) }
                await site.note("dead letters") {
                    try await site.broker.deadLetters("*", cause: nil, after: nil, limit: 10)
                }
            }
        }
    }
}
