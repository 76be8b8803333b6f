import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// A row of the table of calls: a public call in one situation.
struct CallCase: Sendable, CustomTestStringConvertible {
    /// The call's name in Swift, such as `move(_:to:)`.
    let call: String
    let situation: String
    let body: @Sendable (CallSite) async throws -> Void

    init(_ call: String, _ situation: String, _ body: @escaping @Sendable (CallSite) async throws -> Void) {
        (self.call, self.situation, self.body) = (call, situation, body)
    }

    var testDescription: String { "\(call), \(situation)" }

    /// The whole table.
    static let all = acts + patterns + waits + limits + texts + routes + enqueues + life + brief

    /// Those that a run compares: some of them in the short form of `make test`.
    static let compared: [CallCase] = {
        let isShort = ProcessInfo.processInfo.environment["SLUICE_SHORT"] != nil
        // By its words, so that a new row changes nothing for the others.
        return all.filter { row in
            let number = row.testDescription.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
            return !isShort || number.isMultiple(of: 8)
        }
    }()
}

/// A public call with an argument that the table varies.
struct CallOn<Argument>: Sendable {
    let call: String
    /// What distinguishes it from the same call with other arguments.
    let words: String
    let body: @Sendable (CallSite, Argument) async throws -> Any

    init(
        _ call: String,
        _ words: String = "",
        _ body: @escaping @Sendable (CallSite, Argument) async throws -> Any
    ) {
        (self.call, self.words, self.body) = (call, words, body)
    }
}

/// What can have happened to an action before a call.
enum ActionSituation: String, CaseIterable {
    case unknown, waiting, scheduled, gated, held, retrying, parked, running, dead, succeeded
    case behind = "behind a parked one"

    /// Brings an action there, and returns it.
    func prepare(_ site: CallSite) async throws -> ActionID {
        let broker = site.broker
        try site.route()
        func enqueue(_ text: String, _ options: EnqueueOptions = EnqueueOptions()) async throws -> ActionID {
            try await broker.enqueue(Note(text, in: queue), options).id
        }
        switch self {
        case .unknown: return ActionID(rawValue: 9_999)
        case .waiting: return try await enqueue("a")
        case .scheduled:
            return try await enqueue("a", EnqueueOptions(notBefore: site.clock.date + 3_600))
        case .gated:
            let id = try await enqueue("a", EnqueueOptions(gate: "network"))
            try await site.begin()
            try await until { try await broker.status(of: queue).state == .gate }
            return id
        case .held:
            try await broker.hold("q", by: "a person", reason: "to look at", for: nil)
            let id = try await enqueue("a")
            try await site.begin()
            return id
        case .retrying:
            let id = try await enqueue("retry")
            try await site.begin()
            try await until { if case .retrying = try await broker.action(id).phase { true } else { false } }
            return id
        case .parked, .behind:
            let head = try await enqueue("fail")
            let next = try await enqueue("a")
            try await site.begin()
            try await until { try await broker.status(of: queue).state == .parked }
            return self == .parked ? head : next
        case .running:
            let id = try await enqueue("run")
            try await site.begin()
            _ = try await site.started.wait { $0.contains("run") }
            return id
        case .dead:
            let id = try await enqueue("fail")
            try await site.begin()
            try await until { try await broker.deadLetter(id) != nil }
            return id
        case .succeeded:
            let id = try await enqueue("a")
            try await site.begin()
            _ = try await broker.settled(id)
            return id
        }
    }

    /// Where the action is.
    var queue: QueueName { self == .dead ? "dead" : "q" }
}

/// Names and patterns of queues, as users write them.
let oddPatterns: [QueuePattern] = [
    "*", "q", "q/*", "q/", "mail/", "mail/*", "", "/*", "*/*", "a*", "a*b", "*a", "q/*/x", "nobody",
    "nobody/*", " ", "Q",
    "\u{E9}", "e\u{301}", "a\0b", QueuePattern(String(repeating: "x", count: 512)),
    QueuePattern(String(repeating: "x", count: 513)),
]

/// A pattern as a row of the table names it.
func words(for pattern: QueuePattern) -> String {
    let text = pattern.rawValue
    return text.utf8.count > 100 ? "\(text.utf8.count) bytes" : "'\(text.replacing("\0", with: "NUL"))'"
}
