/// The status of one queue, first now and then after each change, for one task to iterate over.
///
/// ```swift
/// for try await status in broker.statusUpdates(of: "conversation/42") { show(status) }
/// ```
///
/// See ``Broker/statusUpdates(of:)``.
public struct QueueStatusUpdates: AsyncSequence, Sendable {
    /// A status.
    public typealias Element = QueueStatus
    /// Errors of reading the file.
    public typealias Failure = SluiceError

    private let broker: Broker
    private let queue: QueueName

    init(_ broker: Broker, _ queue: QueueName) {
        self.broker = broker
        self.queue = queue
    }

    /// Makes an iterator, which begins with the current status.
    public func makeAsyncIterator() -> Iterator {
        defer { broker.isObserved() }
        return Iterator(broker: broker, queue: queue, watch: QueueWatch(broker.observers, queue))
    }

    /// Returns one status after the other, always the latest.
    public struct Iterator: AsyncIteratorProtocol {
        let broker: Broker
        let queue: QueueName
        let watch: QueueWatch
        fileprivate var last: QueueStatus?

        /// Returns the next status that differs; `nil` if the broker was closed or the task is cancelled.
        public mutating func next() async throws(SluiceError) -> QueueStatus? {
            while await watch.changed() {
                do {
                    var status = try await broker.status(of: queue)
                    let age = status.oldestAge
                    // The age alone is no change.
                    status.oldestAge = .zero
                    watch.knows(status.queueID)
                    guard status != last else { continue }
                    last = status
                    status.oldestAge = age
                    return status
                } catch {
                    if error.code == .closed { return nil }
                    throw error
                }
            }
            return nil
        }
    }
}
