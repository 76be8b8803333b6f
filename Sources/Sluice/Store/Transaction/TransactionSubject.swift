internal import SluiceSQLite

/// One subject of the write transaction, which owns its memory and its SQL.
protocol TransactionSubject: AnyObject {
    var core: TransactionCore { get }

    func begin()
    func committed()
    /// Called in a roll-back; ``forget()`` follows.
    func rolledBack()
    /// Forgets everything read from the file, after another connection has changed it or in a roll-back.
    func forget()
}

extension TransactionSubject {
    var connection: Connection { core.connection }
    var order: WaitingOrder { core.order }
    var now: Timestamp { core.now }
    func begin() {}
    func committed() {}
    func rolledBack() {}
    func forget() {}
}
