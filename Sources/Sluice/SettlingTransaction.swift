internal import SluiceSQLite
internal import Synchronization

/// The transaction that settles an attempt, for the application's writes: see ``Outcome/success(_:)``.
///
/// Use it only inside its closure, on its thread; later uses throw ``SluiceError/Code/transactionOver``.
public struct SettlingTransaction {
    private let scope: SettlingScope
    private let drafter: Drafter

    fileprivate init(_ scope: SettlingScope, _ drafter: Drafter) {
        (self.scope, self.drafter) = (scope, drafter)
    }

    /// The engine's connection, as SQLite's C functions take it (`sqlite3 *`), in the open transaction.
    ///
    /// Statements on it may read all of the database and write to the application's tables, with foreign keys
    /// enforced. SQLite refuses the following with `SQLITE_AUTH`, "not authorized", without naming the cause:
    ///
    /// - `BEGIN`, `COMMIT`, `END`, `ROLLBACK`, `SAVEPOINT`, `RELEASE`, `ATTACH`, `DETACH`, and so `VACUUM`;
    /// - `PRAGMA name = value`, and a pragma that does something without a value;
    /// - on names `sluice_…`: `CREATE`, `ALTER`, `DROP`, `INSERT`, `UPDATE`, `DELETE`, also by your triggers.
    ///
    /// Finalize your statements before the closure ends: a remaining statement keeps the file open when the
    /// broker is closed. Outside the closure it throws ``SluiceError/Code/transactionOver``.
    public var connection: OpaquePointer {
        get throws(SluiceError) { try scope.open().core.connection.rawHandle }
    }

    /// Enqueues an action in the same transaction, and returns its number: it is stored with the settling.
    ///
    /// The action that is being settled has already left its queue: it does not count for the depth limit,
    /// and its deduplication key is free unless it is retained. ``BrokerOptions/middleware`` is not called.
    ///
    /// - Throws: As the broker's own `enqueue`, and ``SluiceError/Code/transactionOver`` outside the closure.
    @discardableResult public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions()
    ) throws(SluiceError) -> ActionID { try scope.enqueue([drafter.draft(action, options)])[0] }

    /// Enqueues actions of one type in the same transaction, and returns their numbers, in their order.
    ///
    /// - Throws: As for one action. A refusal of a later action fails the attempt, even if it is caught.
    @discardableResult public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ options: EnqueueOptions = EnqueueOptions()
    ) throws(SluiceError) -> [ActionID] {
        try scope.enqueue(actions.map { action throws(SluiceError) in try drafter.draft(action, options) })
    }

    /// Enqueues actions whose kinds and payloads are known at run time only, as those of a type.
    ///
    /// - Throws: As for actions of a type, and ``SluiceError/Code/payloadNotJSON``.
    @discardableResult public func enqueue(
        raw actions: some Sequence<RawAction>,
        _ options: EnqueueOptions = EnqueueOptions()
    ) throws(SluiceError) -> [ActionID] {
        try scope.enqueue(actions.map { action throws(SluiceError) in try drafter.draft(action, options) })
    }
}

/// The scope in which a ``SettlingTransaction`` is valid.
private final class SettlingScope {
    private var transaction: (core: TransactionCore, enqueues: Enqueues)?
    /// An error of a partial enqueue, which must not be committed.
    private(set) var failure: SluiceError?
    /// Whether an enqueued action is scheduled for later, or expires.
    private(set) var awaitsTime = false
    init(_ core: TransactionCore, _ enqueues: Enqueues) { transaction = (core, enqueues) }
    func end() { transaction = nil }

    func open() throws(SluiceError) -> (core: TransactionCore, enqueues: Enqueues) {
        guard let transaction else {
            throw SluiceError(
                .transactionOver,
                "the settling transaction is over: use it inside its closure only"
            )
        }
        return transaction
    }

    func enqueue(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID] {
        guard !drafts.isEmpty else { return [] }
        let transaction = try open()
        let result: Result<[ActionID], SluiceError>
        do {
            result = try transaction.core.connection.unguarded { try transaction.enqueues.enqueue(drafts) }
        } catch {
            let error = SluiceError(wrapping: error, doing: "enqueueing with a settled attempt")
            // The transaction may contain some of them already.
            if drafts.count > 1 { failure = failure ?? error }
            throw error
        }
        let ids = try result.get()
        if drafts.contains(where: { $0.notBefore != nil || $0.extras != nil }) { awaitsTime = true }
        return ids
    }
}

/// The closure of an outcome; a class, so that it has an identity.
final class SettlingClosure: Hashable, Sendable {
    let body: @Sendable (SettlingTransaction) throws -> Void
    init(_ body: @escaping @Sendable (SettlingTransaction) throws -> Void) { self.body = body }
    static func == (left: SettlingClosure, right: SettlingClosure) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The closure of one attempt, with its result.
package final class SettlingWork: Hashable, Sendable {
    /// The views that a trigger on an application's table may write to, as on any other connection.
    private static let views: Set = ["sluice_actions", "sluice_dead", "sluice_holds", "sluice_gates"]
    private let closure: SettlingClosure
    private let drafter: Drafter
    private let state = Mutex<(failure: (any Error)?, awaitsTime: Bool)>((nil, false))
    init(_ closure: SettlingClosure, _ drafter: Drafter) { (self.closure, self.drafter) = (closure, drafter) }
    /// Why it has failed; `nil` when it was not the closure's fault.
    var failure: (any Error)? { state.withLock { $0.failure } }
    var awaitsTime: Bool { state.withLock { $0.awaitsTime } }

    /// Runs the closure in the open transaction, which must be rolled back if it throws.
    func perform(_ core: TransactionCore, _ enqueues: Enqueues) throws {
        state.withLock { $0 = (nil, false) }
        let scope = SettlingScope(core, enqueues)
        do {
            try core.connection.guarded(protecting: "sluice_", butForViewsInTriggers: Self.views) {
                defer { scope.end() }
                try closure.body(SettlingTransaction(scope, drafter))
            }
            let awaitsTime = scope.awaitsTime
            state.withLock { $0.awaitsTime = awaitsTime }
            if let failure = scope.failure { throw failure }
            guard core.connection.isInTransaction else {
                throw SluiceError(
                    .transactionOver,
                    "the settling transaction was rolled back by an error that its closure did not throw"
                )
            }
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    package static func == (left: SettlingWork, right: SettlingWork) -> Bool { left.closure == right.closure }
    package func hash(into hasher: inout Hasher) { hasher.combine(closure) }
}
