import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Enqueues with options of all kinds, and calls before, while and after the broker runs.
extension CallCase {
    private static let options: [(String, @Sendable (CallSite) -> EnqueueOptions)] = [
        ("no options", { _ in EnqueueOptions() }),
        ("later", { EnqueueOptions(notBefore: $0.clock.date + 60) }),
        ("earlier", { EnqueueOptions(notBefore: $0.clock.date - 60) }),
        ("at the end of time", { _ in EnqueueOptions(notBefore: .distantFuture) }),
        ("at the beginning of time", { _ in EnqueueOptions(notBefore: .distantPast) }),
        ("expired", { EnqueueOptions(expiresAt: $0.clock.date - 60) }),
        (
            "that expires before it starts",
            {
                EnqueueOptions(notBefore: $0.clock.date + 60, expiresAt: $0.clock.date + 30)
            }
        ),
        ("a key that refuses", { _ in EnqueueOptions(key: DeduplicationKey("k", policy: .refuse)) }),
        ("a key that replaces", { _ in EnqueueOptions(key: DeduplicationKey("k", policy: .replace)) }),
        ("a key that is kept", { _ in EnqueueOptions(key: DeduplicationKey("k", retention: .seconds(60))) }),
        (
            "a key that is kept for a negative time",
            { _ in
                EnqueueOptions(key: DeduplicationKey("k", retention: .seconds(-60)))
            }
        ),
        ("a group", { _ in EnqueueOptions(startsGroups: ["g"]) }),
    ]

    private static let keys: [(String, SortKey)] = [
        ("an integer", .integer(1)), ("a date", .date(Date(timeIntervalSince1970: 1))),
        ("a text", .text("a")),
        ("a number", .real(1.5)), ("not a number", .real(.nan)), ("infinity", .real(.infinity)),
        ("a distant date", .date(.distantFuture)), ("several", .composite(.text("a"), .integer(1))),
    ]

    static let enqueues: [CallCase] =
        options.map { words, options in
            CallCase("enqueue(_:_:notBefore:)", words) { site in
                try site.route()
                for time in ["once", "twice"] {
                    await site.note(time) {
                        try await site.broker.enqueue(Note("a", in: "q"), options(site)).id
                    }
                }
                await site.note("several") {
                    try await site.broker.enqueue([Note("b", in: "q"), Note("c", in: "q")], options(site))
                }
                await site.note("actions") { try await site.broker.actionSummaries("*", limit: 10) }
                try await site.begin()
                try await site.settle()
                await site.note("first") { try await site.broker.action(ActionID(rawValue: 1)) }
            }
        }
        + keys.map { words, key in
            CallCase("enqueue(_:_:notBefore:)", "the sort key \(words)") { site in
                try site.broker.configure("fixed", QueueOptions(sortKey: .integer, maximumDepth: 1))
                for queue in ["q", "fixed", "fixed"] {
                    await site.note(queue) {
                        try await site.broker.enqueue(Note("a", in: QueueName(queue), order: key)).id
                    }
                }
                await site.note("after one of another type") {
                    try await site.broker.enqueue(Note("a", in: "q", order: .arrival)).id
                }
                await site.note("actions") { try await site.broker.actionSummaries("*", limit: 10) }
            }
        }
        + [
            CallCase("enqueue(_:_:options:)", "none") { site in
                await site.note("none") {
                    try await site.broker.enqueue([Note](), EnqueueOptions(), options: nil)
                }
            },
            CallCase("enqueue(contentsOf:_:)", "one of them bad") { site in
                await site.note("enqueue") {
                    try await site.broker.enqueue(contentsOf: [
                        Note("a"), Note("b", in: ""), Photo(album: "p", width: 1),
                    ])
                }
                await site.note("count") { try await site.broker.actionCount() }
            },
            CallCase("submit(_:_:onError:)", "good and bad") { site in
                let errors = EventLog<String>()
                site.broker.submit(Note("a", in: "q"), EnqueueOptions()) { errors.append("\($0.code)") }
                site.broker.submit(Note("a", in: ""), EnqueueOptions()) { errors.append("\($0.code)") }
                _ = try await errors.wait(forCount: 1)
                await site.note("errors") { errors.elements }
                try await until { try await site.broker.actionCount() == 1 }
            },
        ]

    static let life: [CallCase] = [
        CallCase("run()", "twice") { site in
            try site.route()
            try await site.begin()
            await site.note("again") { try await site.broker.run() }
        },
        CallCase("run()", "after a stop") { site in
            try site.route()
            try await site.begin()
            await site.broker.stop(grace: .zero)
            try await site.broker.enqueue(Note("a", in: "q"))
            await site.note("status") { try await site.broker.status(of: "q") }
        },
        CallCase("stop(grace:)", "while nothing runs") { site in
            await site.note("stop") { await site.broker.stop(grace: nil) }
        },
        CallCase("settled(_:)", "each end") { site in
            try site.route()
            let ids = try await site.broker.enqueue(
                [Note("a", in: "q"), Note("fail", in: "dead"), Note("b", in: "q2")],
                EnqueueOptions(),
                options: nil
            )
            try await site.broker.cancel(ids[2])
            try await site.begin()
            try await site.settle()
            for id in ids + [ActionID(rawValue: 9_999)] {
                await site.note("\(id)") { try await site.broker.settled(id) }
            }
            await site.note("receipt") { try await site.broker.receipt(of: ids[0]).settled() }
        },
        CallCase("openGate(_:isPersistent:spread:)", "times") { site in
            await site.note("spread") {
                try await site.broker.openGate("g", isPersistent: true, spread: .seconds(-1))
            }
            await site.note("long") {
                try await site.broker.openGate("g", isPersistent: true, spread: .seconds(86_400))
            }
            await site.note("gates") { try await site.broker.gates() }
        },
        CallCase("closeGate(_:isPersistent:for:)", "times") { site in
            for duration in [Duration.zero, .seconds(-1), .seconds(60), .seconds(30)] {
                await site.note("\(duration)") {
                    try await site.broker.closeGate("g", isPersistent: true, for: duration)
                }
                await site.note("gates") { try await site.broker.gates() }
            }
        },
        CallCase("hold(_:by:reason:for:)", "times") { site in
            for duration in [Duration.zero, .seconds(-1), .seconds(60)] {
                await site.note("\(duration)") {
                    try await site.broker.hold("q", by: "me", reason: "", for: duration)
                }
            }
            await site.note("holds") { try await site.broker.holds() }
        },
        CallCase("holds()", "none and two") { site in
            await site.note("none") { try await site.broker.holds() }
            for pattern in ["q", "*"] {
                try await site.broker.hold(QueuePattern(pattern), by: "me", reason: "", for: nil)
            }
            await site.note("two") { try await site.broker.holds() }
        },
        CallCase("gates()", "none, one that is open, one that is closed") { site in
            await site.note("none") { try await site.broker.gates() }
            try await site.broker.openGate("b", isPersistent: true, spread: .zero)
            try await site.broker.closeGate("a", isPersistent: true, for: nil)
            await site.note("two") { try await site.broker.gates() }
        },
        CallCase("actionCount()", "none, waiting and scheduled") { site in
            await site.note("none") { try await site.broker.actionCount() }
            try await site.broker.enqueue(Note("a", in: "q"))
            try await site.broker.enqueue(Note("a", in: "q"), EnqueueOptions(notBefore: site.clock.date + 60))
            await site.note("two") { try await site.broker.actionCount() }
        },
        CallCase("receipt(of:)", "one that ended") { site in
            try site.route()
            let id = try await site.broker.enqueue(Note("a", in: "q")).id
            try await site.begin()
            await site.note("settled") { try await site.broker.receipt(of: id).settled() }
            await site.note("again") { try await site.broker.receipt(of: id).settled() }
        },
        CallCase("endHold(_:)", "unknown") { site in
            await site.note("end") { try await site.broker.endHold(HoldID(rawValue: 9_999)) }
        },
        CallCase("close(grace:)", "then each call") { site in
            try site.route()
            let id = try await site.broker.enqueue(Note("a", in: "q")).id
            await site.broker.close(grace: nil)
            await site.note("close") { await site.broker.close(grace: nil) }
            await site.note("run") { try await site.broker.run() }
            await site.note("enqueue") { try await site.broker.enqueue(Note("a", in: "q")).id }
            await site.note("action") { try await site.broker.action(id) }
            await site.note("status") { try await site.broker.status(of: "q") }
            await site.note("cancel") { try await site.broker.cancel(id) }
            await site.note("hold") { try await site.broker.hold("q", by: "me", reason: "", for: nil) }
            await site.note("gates") { try await site.broker.gates() }
            await site.note("settled") { try await site.broker.settled(id) }
            await site.note("route") { try site.broker.route("x", Note.self) { _, _ in .success } }
            await site.note("observe") {
                for try await update in site.broker.observe(statuses: "*", after: nil) {
                    return update as Any
                }
                return "nothing"
            }
        },
    ]
}
