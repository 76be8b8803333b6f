internal import Synchronization

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A run of an action, as its handler sees it.
public struct Attempt: Sendable, Hashable, CustomStringConvertible {
    /// The action that is run.
    public let id: ActionID
    /// The action's queue.
    public let queue: QueueName
    /// The action's kind.
    public let kind: String
    /// The version that the payload was stored in; a route of a type gets it upgraded to ``Action/version``.
    public let version: Int
    /// The attempt's number, counted from 1.
    ///
    /// Released attempts do not count, nor those cut short by a stop or another action's crash.
    public let number: Int
    /// A text that is the same at each attempt of this action and unique among all actions of all files.
    ///
    /// Send it to the server, so that the server can recognize a repetition (G5).
    public var idempotencyKey: String { id.idempotencyKey(of: nonce) }
    /// The random number of the opening that enqueued the action.
    let nonce: Int64
    /// When the action was enqueued, by the wall clock at that time.
    public let enqueuedAt: Date
    /// Settles the attempt in a transaction of the application; `nil` without a store.
    var settler: AttemptSettler? = nil
    package var claim: Int64? { settler?.action.receipt.claim }
    /// The broker that runs the attempt; read it only while the attempt runs.
    ///
    /// ```swift
    /// try await attempt.broker.enqueue(Announce(place))
    /// ```
    ///
    /// A handler that captures its broker instead keeps the broker alive until it is closed.
    public var broker: Broker {
        guard let broker = settler?.origin.broker else {
            preconditionFailure("\(self) has no broker: ask for it while the handler runs")
        }
        return broker
    }
    /// The error of the previous failed attempt, if any; at most ``SluiceError/maximumTextByteCount`` bytes.
    public let lastError: String?
    /// The attempt in words: `attempt 2 of action 7 of conversation/42`.
    public var description: String { "attempt \(number) of action \(id) of \(queue)" }

    /// Settles the attempt with success in an open transaction on a connection of the application.
    ///
    /// If it commits, the action is removed together with the application's writes, exactly once (G5).
    ///
    /// ```swift
    /// try database.write { connection in              // BEGIN IMMEDIATE … COMMIT
    ///     try markSent(message.id, on: connection)
    ///     try attempt.succeed(in: connection)         // throws if the attempt no longer counts: roll back
    /// }
    /// return .success
    /// ```
    ///
    /// Commit first, then return ``Outcome/success``: after the commit, the handler's result has no effect.
    /// After a roll-back it settles the attempt. The next action starts when the handler has returned (G3).
    ///
    /// - Parameter connection: As for ``Broker/enqueue(_:_:in:)``.
    /// - Throws: ``SluiceError/Code/staleReceipt`` when the action was settled or removed, or another process
    ///   has taken over its queue: roll back (G6). Other errors leave the transaction unchanged.
    public func succeed(in connection: OpaquePointer) throws(SluiceError) {
        guard let settler else { throw SluiceError(.staleReceipt, "the attempt is of no broker") }
        try settler.origin.succeed(settler.action, in: connection)
    }

    /// Throws if the attempt is of a server, which would take a connection of SQLite for one of libpq.
    package func ensureFile() throws(SluiceError) {
        guard let settler, !(settler.origin is FileAttemptOrigin) else { return }
        throw SluiceError(.unsupported, "settling in a database of GRDB needs a broker on a file")
    }
}

extension ActionID {
    /// Returns the opening's random number as sixteen hexadecimal digits, a hyphen, and the action's number.
    func idempotencyKey(of nonce: Int64) -> String {
        let digits = String(UInt64(bitPattern: nonce), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + "-\(self)"
    }
}

/// The engine that attempts belong to.
package protocol AttemptOrigin: AnyObject, Sendable {
    /// The broker that runs the attempts; `nil` after it was released.
    var broker: Broker? { get }
    /// Settles an attempt with success in an open transaction on a connection of the application.
    func succeed(_ action: ClaimedAction, in connection: OpaquePointer) throws(SluiceError)
}

/// The store and the broker that attempts belong to.
final class FileAttemptOrigin: AttemptOrigin {
    private let store: Store
    private let reference: BrokerReference
    init(_ store: Store, _ reference: BrokerReference) { (self.store, self.reference) = (store, reference) }
    var broker: Broker? { reference.broker }

    func succeed(_ action: ClaimedAction, in connection: OpaquePointer) throws(SluiceError) {
        try store.succeed(action, in: connection)
    }
}

/// A weak reference to a broker, for its parts, which are made before it.
package final class BrokerReference: Sendable {
    private struct WeakReference { weak var broker: Broker? }

    private let reference = Mutex(WeakReference())
    package var broker: Broker? { reference.withLock { $0.broker } }
    func connect(_ broker: Broker) { reference.withLock { $0.broker = broker } }
}

/// Settles an attempt in a transaction of the application.
struct AttemptSettler: Sendable, Hashable {
    let action: ClaimedAction
    let origin: any AttemptOrigin
    static func == (left: Self, right: Self) -> Bool { left.action.receipt == right.action.receipt }
    func hash(into hasher: inout Hasher) { hasher.combine(action.receipt) }
}
