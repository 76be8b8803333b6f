/// What waits in a queue, in its order, read a page at a time.
///
/// ```swift
/// for try await item in uploads.contents() { show(item.id, item.action.file) }
/// ```
///
/// Each page is one snapshot of the file, and nothing is held between two of them: what leaves meanwhile is
/// not seen any more, what comes behind the place that was reached is, and what is moved may be seen twice
/// or not at all. It may be iterated over as often as one likes.
public struct QueueContents<A: Action>: AsyncSequence, Sendable {
    /// An action that waits.
    public typealias Element = QueuedAction<A>
    /// ``SluiceError/Code/undecodable`` at an action that is not of the type, and what reading the file
    /// throws.
    public typealias Failure = SluiceError

    let queue: QueueName
    let broker: Broker
    let pageSize: Int

    /// Makes an iterator, which reads when it is asked.
    public func makeAsyncIterator() -> Iterator { Iterator(contents: self) }

    /// Gives one action after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let contents: QueueContents<A>
        private var page: ArraySlice<StoredAction> = []
        private var last: Place?
        private var isAtEnd = false

        init(contents: QueueContents<A>) { self.contents = contents }

        /// The next action; `nil` at the end, where it stays.
        ///
        /// Behind one that could not be read it goes on.
        public mutating func next() async throws(SluiceError) -> QueuedAction<A>? {
            if page.isEmpty && !isAtEnd { try await readPage() }
            guard let stored = page.popFirst() else { return nil }
            return try contents.broker.reader.queued(A.self, from: stored, in: contents.queue).get()
        }

        private mutating func readPage() async throws(SluiceError) {
            let found = try await contents.broker.store.waiting(
                in: contents.queue,
                from: last.map(HandleStart.behind) ?? .front,
                limit: contents.pageSize,
                by: contents.broker.routes.admission.queues.saidDiscipline(of: contents.queue)
            )
            isAtEnd = found.count < contents.pageSize
            if let end = found.last { last = end.place }
            page = found[...]
        }
    }
}
