/// Whether a write is to survive a loss of power when its caller is told.
enum SyncNeed: Sendable {
    /// Losing it only means that an action runs again; a later sync will do.
    case later
    /// The caller is owed that, unless the broker's durability says otherwise.
    case owed
    /// At any durability.
    case forced
}

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

/// A write with a result, for a completion that is called once.
final class Write<Output: Sendable>: PendingWrite {
    let sync: SyncNeed
    let isAlone: Bool
    let commitsOnWriterThread: Bool
    private let body: @Sendable (WriteTransaction) throws -> Output
    private let completion: @Sendable (Result<Output, SluiceError>) -> Void
    /// Set and read by the writer's leader alone.
    private nonisolated(unsafe) var output: Output?

    init(
        sync: SyncNeed,
        isAlone: Bool = false,
        commitsOnWriterThread: Bool = false,
        body: @escaping @Sendable (WriteTransaction) throws -> Output,
        completion: @escaping @Sendable (Result<Output, SluiceError>) -> Void
    ) {
        self.sync = sync
        self.isAlone = isAlone
        self.commitsOnWriterThread = commitsOnWriterThread
        self.body = body
        self.completion = completion
    }

    func perform(in transaction: WriteTransaction) throws {
        output = try body(transaction)
    }

    func complete() {
        guard let output else { preconditionFailure("a write was committed that was never performed") }
        completion(.success(output))
    }

    func complete(failing error: SluiceError) {
        completion(.failure(error))
    }
}
