/// The waiting actions of a queue in their order, read a page at a time.
///
/// ```swift
/// for try await item in uploads.contents() { show(item.id, item.action.file) }
/// ```
///
/// Each page is one snapshot of the file; nothing is locked between two pages. So removed actions are not
/// returned, later arrivals further along the order are, and a moved action may be returned twice or not at
/// all. The sequence can be iterated over more than once.
public struct QueueContents<A: Action>: AsyncSequence, Sendable {
    /// A waiting action.
    public typealias Element = QueuedAction<A>
    /// ``SluiceError/Code/undecodable`` for an action that is not of the type, and errors of the file.
    public typealias Failure = SluiceError
    let queue: QueueName
    let broker: Broker
    let pageSize: Int
    /// Makes an iterator, which reads on demand.
    public func makeAsyncIterator() -> Iterator { Iterator(contents: self) }

    /// Returns one action after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let contents: QueueContents<A>
        private var page: ArraySlice<StoredAction> = []
        private var last: Place?
        private var isAtEnd = false
        init(contents: QueueContents<A>) { self.contents = contents }

        /// Returns the next action; `nil` at the end, and from then on; after an error it continues.
        public mutating func next() async throws(SluiceError) -> QueuedAction<A>? {
            if page.isEmpty && !isAtEnd {
                let found = try await contents.broker.fileEngine(for: "a queue handle").store.waiting(
                    in: contents.queue,
                    from: last.map(HandleStart.behind) ?? .front,
                    limit: contents.pageSize,
                    by: contents.broker.book.routes.admission.queues.saidDiscipline(of: contents.queue)
                )
                isAtEnd = found.count < contents.pageSize
                if let end = found.last { last = end.place }
                page = found[...]
            }
            guard let stored = page.popFirst() else { return nil }
            return try contents.broker.book.reader.queued(A.self, from: stored, in: contents.queue)
                .get()
        }
    }
}
