/// A write with a result, for a completion that is called once.
final class Write<Output: Sendable>: PendingWrite {
    let sync: SyncNeed
    let isAlone: Bool
    let commitsOnWriterThread: Bool
    private let body: @Sendable (WriteTransaction) throws -> Output
    private let completion: @Sendable (Result<Output, SluiceError>) -> Void
    /// Set and read only by the writer's leader.
    private nonisolated(unsafe) var output: Output?

    init(
        sync: SyncNeed,
        isAlone: Bool = false,
        commitsOnWriterThread: Bool = false,
        body: @escaping @Sendable (WriteTransaction) throws -> Output,
        completion: @escaping @Sendable (Result<Output, SluiceError>) -> Void
    ) {
        (self.sync, self.isAlone, self.commitsOnWriterThread) = (sync, isAlone, commitsOnWriterThread)
        (self.body, self.completion) = (body, completion)
    }

    func perform(in transaction: WriteTransaction) throws { output = try body(transaction) }

    func complete() {
        guard let output else { preconditionFailure("a write was committed that was never performed") }
        completion(.success(output))
    }

    func complete(failing error: SluiceError) { completion(.failure(error)) }
}
