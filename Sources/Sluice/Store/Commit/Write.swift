/// A write that waits to be committed, with a completion that is called once.
///
/// It is no generic class, whose methods would look up its types at each call: the initializer makes closures
/// that know them.
final class Write: Sendable {
    let sync: SyncNeed
    /// Whether it shares its transaction with no other write.
    let isAlone: Bool
    /// Whether the writer's thread commits it, since other writes are likely at the same time.
    let commitsOnWriterThread: Bool
    private let body: @Sendable (WriteTransaction) throws -> Void
    /// Receives an error if the write has failed.
    private let completion: @Sendable (SluiceError?) -> Void

    init<Output: Sendable>(
        sync: SyncNeed,
        isAlone: Bool = false,
        commitsOnWriterThread: Bool = false,
        body: @escaping @Sendable (WriteTransaction) throws -> Output,
        completion: @escaping @Sendable (Result<Output, SluiceError>) -> Void
    ) {
        (self.sync, self.isAlone, self.commitsOnWriterThread) = (sync, isAlone, commitsOnWriterThread)
        // Set and read only by the writer's leader.
        nonisolated(unsafe) var output: Output?
        self.body = { output = try body($0) }
        self.completion = { error in
            if let error { return completion(.failure(error)) }
            guard let output else { preconditionFailure("a write was committed that was never performed") }
            completion(.success(output))
        }
    }

    /// Performs the write in a transaction; it may be rolled back, followed by another call.
    func perform(in transaction: WriteTransaction) throws { try body(transaction) }

    func complete() { completion(nil) }

    /// Reports that nothing was written or, with ``SluiceError/Code/unknownCommit``, that this is unknown.
    func complete(failing error: SluiceError) { completion(error) }
}
