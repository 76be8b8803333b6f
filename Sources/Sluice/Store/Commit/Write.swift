/// A write with a result, for a completion that is called once.
///
/// It is no generic class, whose methods would look up its types at each call: the initializer makes closures
/// that know them.
final class Write: PendingWrite {
    let sync: SyncNeed
    let isAlone: Bool
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

    func perform(in transaction: WriteTransaction) throws { try body(transaction) }

    func complete() { completion(nil) }

    func complete(failing error: SluiceError) { completion(error) }
}
