/// A write that waits for its turn.
protocol PendingWrite: AnyObject, Sendable {
    /// Whether the caller is owed that the write survives a loss of power.
    var isSyncOwed: Bool { get }

    /// Performs the write in a transaction that may be rolled back and followed by another call.
    func perform(in transaction: WriteTransaction) throws

    /// Tells that the transaction of the last call was committed.
    func complete()

    /// Tells that nothing was written, or with ``SluiceError/Code/unknownCommit`` that nobody knows.
    func complete(failing error: SluiceError)
}

/// A write with a result, for a completion that is called once.
final class Write<Output: Sendable>: PendingWrite {
    let isSyncOwed: Bool
    private let body: @Sendable (WriteTransaction) throws -> Output
    private let completion: @Sendable (Result<Output, SluiceError>) -> Void
    /// Set and read by the writer's leader alone.
    private nonisolated(unsafe) var output: Output?

    init(
        isSyncOwed: Bool,
        body: @escaping @Sendable (WriteTransaction) throws -> Output,
        completion: @escaping @Sendable (Result<Output, SluiceError>) -> Void
    ) {
        self.isSyncOwed = isSyncOwed
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
