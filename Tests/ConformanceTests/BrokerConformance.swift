import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// An engine that the conformance suite is run through.
protocol ConformingEngine: Sendable {
    /// The clock of its brokers.
    var clock: ManualClock { get }

    /// Opens a broker without actions.
    func broker() async throws -> Broker
}

/// What every broker promises, whatever keeps its queues.
///
/// Another engine is run through it unchanged.
struct BrokerConformance<Conforming: ConformingEngine>: Sendable {
    let engine: Conforming

    init(_ engine: Conforming) { self.engine = engine }

    func check(_ promise: BrokerPromise) async throws {
        let broker = try await engine.broker()
        switch promise {
        case .order: try await order(broker)
        case .compositeKeys: try await compositeKeys(broker)
        case .oneSlot: try await oneSlot(broker)
        case .headBlocks: try await headBlocks(broker)
        case .receipts: try await receipts(broker)
        case .retry: try await retry(broker)
        case .skip: try await skip(broker)
        case .block: try await block(broker)
        case .failQueue: try await failQueue(broker)
        case .holds: try await holds(broker)
        case .gates: try await gates(broker)
        case .closings: try await closings(broker)
        case .rates: try await rates(broker)
        case .deadLetters: try await deadLetters(broker)
        case .edits: try await edits(broker)
        case .staleActs: try await staleActs(broker)
        case .moves: try await moves(broker)
        case .cancels: try await cancels(broker)
        case .schedules: try await schedules(broker)
        case .expiry: try await expiry(broker)
        case .queueExpiry: try await queueExpiry(broker)
        case .ownOptions: try await ownOptions(broker)
        case .submits: try await submits(broker)
        case .keys: try await keys(broker)
        case .because: try await because(broker)
        case .states: try await states(broker)
        case .observedActions: try await observedActions(broker)
        case .observedStatuses: try await observedStatuses(broker)
        case .idle: try await idle(broker)
        case .idleQueues: try await idleQueues(broker)
        case .predicates: try await predicates(broker)
        case .declined: try await declined(broker)
        case .unions: try await unions(broker)
        case .replaces: try await replaces(broker)
        case .attemptBroker: try await attemptBroker(broker)
        case .upgrades: try await upgrades(broker)
        case .audits: try await audits(broker)
        }
        await broker.close()
    }
}

/// The promises, each with guarantees of the contract.
enum BrokerPromise: String, CaseIterable, CustomTestStringConvertible {
    case order = "G2: actions run in the order of their keys, those of one key in the order of arrival"
    case compositeKeys = "G2: a composite key orders by its first part, then by the next ones"
    case oneSlot = "G3: one handler of a queue runs at a time; queues run beside each other"
    case headBlocks = "G3: nothing of a queue runs before its head has finished"
    case receipts = "G6: a receipt reports how its action ended"
    case retry = "G8: a retry comes after its delay, with the attempt's number and its error"
    case skip = "G9: a failed action that is skipped is a dead letter, and the queue goes on"
    case block = "G9: a failed action parks its queue until an operator acts; other queues go on"
    case failQueue = "G9: the actions after a failed one become dead letters, later arrivals run"
    case holds = "a hold keeps its queues from starting until it is ended"
    case gates = "an action waits for its gate without an attempt"
    case closings = "an outcome closes a gate until a time for all that need it; it opens by itself"
    case rates = "no more actions of a route start in a time than its rate limit allows"
    case deadLetters = "a dead letter is put back at its old place, or purged"
    case edits = "an edited action runs with its new payload, at its place"
    case staleActs = "a skip or an edit of what was shown leaves alone what has changed since"
    case moves = "a moved action runs in its new queue; one that is moved to the front runs next"
    case cancels = "a cancelled action is removed, and its handler is cancelled if it runs"
    case schedules = "a scheduled action blocks nothing before its time"
    case expiry = "an expired action does not start"
    case queueExpiry = "an action without an expiry gets that of its queue's options"
    case ownOptions = "an action's own options count where the call sets none"
    case submits = "submitted actions are stored in the order of the calls; an error is reported"
    case keys = "actions with one key are enqueued once"
    case states = "G15: each action has a state, from its enqueue to its end"
    case observedActions = "G15: who observes actions has a snapshot, then what has changed"
    case observedStatuses = "G15: who observes statuses has a snapshot, then what has changed"
    case because = "G15: the status of a queue says why it does not move"
    case idle = "waiting until idle ends when nothing is left that could run"
    case idleQueues = "G9: waiting until some queues are idle does not wait for others"
    case predicates = "G10: routes by predicate run what no pattern matches"
    case declined = "an action that is not a route's own goes to the next one, with the same attempt"
    case unions = "a route for several kinds runs each as its own type, or refuses all"
    case replaces = "G10: heads whose route is removed wait for another one"
    case attemptBroker = "a handler reaches its broker by its attempt"
    case audits = "the acts of operators are kept, the newest first"
    case upgrades = "a payload of an older version runs upgraded, and waits until there is an upgrader"

    var testDescription: String { rawValue }
}

extension BrokerConformance {
    /// Routes notes to a log of their texts; each succeeds.
    func log(_ broker: Broker, _ pattern: QueuePattern = "*") throws -> EventLog<String> {
        let log = EventLog<String>()
        try broker.route(pattern, Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        return log
    }

    /// Runs a broker while `body` is at work, and stops it then.
    func running(_ broker: Broker, _ body: () async throws -> Void) async throws {
        // A stop before the start would stop nothing: an action shows that it runs.
        let (isRunning, probe) = (Signal(), "probe/\(UInt64.random(in: 0 ... .max))")
        try broker.route(QueuePattern(probe), Photo.self) { _, _ in
            isRunning.send()
            return .success
        }
        try await broker.enqueue(Photo(album: probe, width: 0))
        let run = Task { try await broker.run() }
        do {
            try await isRunning.received()
            try await body()
        } catch {
            await broker.stop(grace: .zero)
            throw error
        }
        await broker.stop(grace: .zero)
        try await run.value
    }

    /// Runs a broker until nothing is left that could run.
    func drain(_ broker: Broker) async throws {
        try await running(broker) { await broker.waitUntilIdle() }
    }
}
