/// A write that waits to be committed.
protocol PendingWrite: AnyObject, Sendable {
    var sync: SyncNeed { get }
    /// Whether it shares its transaction with no other write; usually `false`.
    var isAlone: Bool { get }
    /// Whether the writer's thread commits it, since other writes are likely at the same time.
    var commitsOnWriterThread: Bool { get }

    /// Performs the write in a transaction; it may be rolled back, followed by another call.
    func perform(in transaction: WriteTransaction) throws
    func complete()
    /// Reports that nothing was written or, with ``SluiceError/Code/unknownCommit``, that this is unknown.
    func complete(failing error: SluiceError)
}

extension PendingWrite {
    var isAlone: Bool { false }
    var commitsOnWriterThread: Bool { false }
}
