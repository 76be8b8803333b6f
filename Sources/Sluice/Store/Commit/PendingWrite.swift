/// A write that waits for its turn.
protocol PendingWrite: AnyObject, Sendable {
    /// Whether the write is to survive a loss of power.
    var sync: SyncNeed { get }

    /// Whether it shares its transaction with no other write; mostly it does.
    var isAlone: Bool { get }

    /// Whether others are likely to come at the same time, so that it does not begin a commit at once on its
    /// caller's thread.
    var commitsOnWriterThread: Bool { get }

    /// Performs the write in a transaction that may be rolled back and followed by another call.
    func perform(in transaction: WriteTransaction) throws

    /// Tells that the transaction of the last call was committed.
    func complete()

    /// Tells that nothing was written, or with ``SluiceError/Code/unknownCommit`` that nobody knows.
    func complete(failing error: SluiceError)
}

extension PendingWrite {
    var isAlone: Bool { false }

    var commitsOnWriterThread: Bool { false }
}
