internal import SluiceSQLite

/// A part of the write transaction with one subject, which owns its memory and its SQL.
protocol TransactionSubject: AnyObject {
    var core: TransactionCore { get }

    /// The transaction has begun.
    func begin()
    /// It was committed.
    func committed()
    /// It was rolled back; ``forget()`` follows.
    func rolledBack()
    /// Forgets what was read of the file: others have changed it, or the transaction was rolled back.
    func forget()
}

extension TransactionSubject {
    var connection: Connection { core.connection }
    var order: WaitingOrder { core.order }
    /// The wall clock when the transaction began.
    var now: Timestamp { core.now }

    func begin() {}
    func committed() {}
    func rolledBack() {}
    func forget() {}
}
