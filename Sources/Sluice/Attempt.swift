internal import Synchronization

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// What a handler is told of the run it performs.
public struct Attempt: Sendable, Hashable {
    /// The action that is run.
    public let id: ActionID
    /// The queue that it stands in.
    public let queue: QueueName
    /// The action's kind.
    public let kind: String
    /// The version of the kind that the payload was stored in.
    ///
    /// What a route of a type gets has been brought up to ``Action/version``; what
    /// ``Broker/routeAnyKind(_:_:handler:)`` hands over has not.
    public let version: Int
    /// The attempt's number, counted from 1.
    ///
    /// Attempts that were released, and those that a stop of the broker or the death of a neighbour cut
    /// short, are not counted.
    public let number: Int
    /// The same text at each attempt of this action, and of no other action, in any file: hand it to the
    /// server so that it can tell a repetition (G5).
    public var idempotencyKey: String { id.idempotencyKey(of: nonce) }
    /// The random number of the opening that enqueued the action.
    let nonce: Int64
    /// When the action was enqueued, by the wall clock of then.
    public let enqueuedAt: Date
    /// What lets the application settle it itself; `nil` where there is no store.
    var settler: AttemptSettler? = nil
    /// The claim that it runs under; `nil` where there is no store.
    package var claim: Int64? { settler?.action.receipt.claim }
    /// The broker that runs the attempt, for what its handler enqueues, opens or asks.
    ///
    /// ```swift
    /// try broker.route("upload/*", Upload.self) { upload, attempt in
    ///     let place = try await server.upload(upload.file)
    ///     try await attempt.broker.enqueue(Announce(place))
    ///     return .success
    /// }
    /// ```
    ///
    /// A handler that captures its broker instead keeps it alive until that is closed. It is there while the
    /// attempt runs, and must not be asked for later.
    public var broker: Broker {
        guard let broker = settler?.source.broker else {
            preconditionFailure("\(self) has no broker: ask for it while the handler runs")
        }
        return broker
    }
    /// The error of the attempt before, if one failed; at most ``SluiceError/maximumTextByteCount`` bytes.
    public let lastError: String?
}

extension Attempt: CustomStringConvertible {
    /// Which one it is: `attempt 2 of action 7 of conversation/42`.
    public var description: String { "attempt \(number) of action \(id) of \(queue)" }
}

extension ActionID {
    /// Sixteen hexadecimal digits of the opening that enqueued the action, a hyphen, and its number.
    func idempotencyKey(of nonce: Int64) -> String {
        let digits = String(UInt64(bitPattern: nonce), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + "-\(self)"
    }
}

/// Where attempts come from.
final class AttemptSource: Sendable {
    let store: Store
    private let reference = Mutex(WeakReference())

    private struct WeakReference {
        weak var broker: Broker?
    }

    init(_ store: Store) { self.store = store }

    /// The broker; `nil` when it has gone.
    var broker: Broker? { reference.withLock { $0.broker } }

    func connect(_ broker: Broker) { reference.withLock { $0.broker = broker } }
}

/// What settles an attempt in a transaction of the application's.
struct AttemptSettler: Sendable, Hashable {
    let action: ClaimedAction
    let source: AttemptSource
    var store: Store { source.store }

    static func == (left: AttemptSettler, right: AttemptSettler) -> Bool {
        left.action.receipt == right.action.receipt
    }

    func hash(into hasher: inout Hasher) { hasher.combine(action.receipt) }
}

extension Attempt {
    /// Settles the attempt with success inside a transaction of the application's, on its own connection:
    /// the action goes if the transaction is committed, and with it what the application has written,
    /// exactly once (G5).
    ///
    /// ```swift
    /// try database.write { connection in              // BEGIN IMMEDIATE … COMMIT
    ///     try markSent(message.id, on: connection)
    ///     try attempt.succeed(in: connection)         // throws if the attempt no longer counts: roll back
    /// }
    /// return .success
    /// ```
    ///
    /// Commit, and then return ``Outcome/success``; what the handler returns or throws makes no difference
    /// any more. If the transaction was rolled back, the attempt ends with what the handler returns, as
    /// always. The next action of the queue starts when the handler has returned (G3).
    ///
    /// - Parameter connection: As for ``Broker/enqueue(raw:_:in:)``.
    /// - Throws: ``SluiceError`` with ``SluiceError/Code/staleReceipt`` when the action was settled or
    ///   removed, or another process has taken its queue over: roll back (G6). And
    ///   ``SluiceError/Code/otherDatabase``, ``SluiceError/Code/noTransaction``,
    ///   ``SluiceError/Code/databaseLocked``, ``SluiceError/Code/readOnly``, ``SluiceError/Code/closed``
    ///   and others: the transaction is as it was.
    public func succeed(in connection: OpaquePointer) throws(SluiceError) {
        guard let settler else { throw SluiceError(.staleReceipt, "the attempt is of no broker") }
        try settler.store.succeed(settler.action, in: connection)
    }
}
