/// Updates of an observation, for one task to iterate over.
///
/// A slow consumer delays nothing: it gets the latest states and misses those in between. The sequence ends
/// when the broker is closed or the task is cancelled, and throws errors of the file. An iterator observes
/// from its start on; several iterators are several observations. Two tasks must not wait for one iterator.
public struct StateUpdates<Element: Sendable>: AsyncSequence, Sendable {
    /// Errors of reading the file, and of names and patterns.
    public typealias Failure = SluiceError

    /// Waits for the next update; `nil` is the end.
    package typealias Next = @Sendable () async throws(SluiceError) -> Element?

    let begin: @Sendable () throws(SluiceError) -> Next

    /// - Parameter begin: Begins an observation; called for each iterator.
    package init(_ begin: @escaping @Sendable () throws(SluiceError) -> Next) {
        self.begin = begin
    }

    /// Makes an iterator, which observes from now on.
    public func makeAsyncIterator() -> Iterator {
        do throws(SluiceError) {
            return Iterator(waiting: .success(try begin()))
        } catch {
            return Iterator(waiting: .failure(error))
        }
    }

    /// Returns one update after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let waiting: Result<Next, SluiceError>

        /// Returns the next update; `nil` if the broker was closed or the task is cancelled.
        public mutating func next() async throws(SluiceError) -> Element? { try await waiting.get()() }
    }
}

/// The updates of actions: see ``Broker/observe(actions:after:)``.
public typealias ActionUpdates = StateUpdates<ActionUpdate>

/// The updates of the statuses of queues: see ``Broker/observe(statuses:after:)``.
public typealias QueueStatusListUpdates = StateUpdates<QueueStatusListUpdate>

/// The statuses of one queue: see ``Broker/statusUpdates(of:)``.
public typealias QueueStatusUpdates = StateUpdates<QueueStatus>
