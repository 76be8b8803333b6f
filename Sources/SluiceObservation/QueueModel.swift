#if canImport(Observation)
public import Observation
public import Sluice

/// A queue and why it does not move, for a view.
///
/// ```swift
/// let queue = QueueModel(broker, "conversation/42")
/// Text(queue.status?.description ?? "all sent")
/// ```
@MainActor
@Observable
public final class QueueModel {
    /// The queue.
    public let queue: QueueName
    private let list: QueueListModel

    /// Makes a model that follows a queue.
    ///
    /// - Parameters:
    ///   - broker: The broker, which the model keeps.
    ///   - queue: The queue.
    ///   - clock: The clock of the wait after an error.
    public init(_ broker: Broker, _ queue: QueueName, clock: any BrokerClock = SystemClock()) {
        self.queue = queue
        list = QueueListModel(broker, QueuePattern(queue.rawValue), clock: clock)
    }

    /// The queue's status; `nil` if it has no work, and until it has been read.
    public var status: QueueStatus? { list[queue] }
    /// Whether ``status`` has been read.
    public var isLoaded: Bool { list.isLoaded }
    /// The last error, as in `QueueListModel.error`.
    public var error: SluiceError? {
        get { list.error }
        set { list.error = newValue }
    }

    /// Ends the queue's waits for retries and unparks it, as `QueueListModel.retry(_:)`.
    @discardableResult
    public func retry() -> Task<Bool?, Never> { list.retry(queue) }
}
#endif
