#if canImport(Observation)
public import Observation
public import Sluice

/// The queues of a pattern that have work, each with why it does not move, for a view.
///
/// ```swift
/// let queues = QueueListModel(broker, "conversation/*")
/// List(queues.statuses) { Text($0.description) }
/// ```
///
/// The model reads the queues once and then their changes, until it is released or the broker is closed.
@MainActor
@Observable
public final class QueueListModel: OperatingModel {
    /// The queues with work, by name.
    public var statuses: [QueueStatus] { list.all }
    /// Whether ``statuses`` has been read: before that, it is empty.
    public var isLoaded: Bool { list.isLoaded }
    /// The last error of a call of this model, or else of reading; set it to `nil` when it has been shown.
    ///
    /// After an error of reading the model reads again, a second later, and then clears that error.
    public var error: SluiceError? {
        get { callError ?? list.error }
        set { (callError, list.error) = (newValue, nil) }
    }
    var callError: SluiceError?
    private let list: FollowedStates<QueueStatus>
    private let broker: Broker
    @ObservationIgnored var latest: (@Sendable () async -> Void)?

    /// Makes a model that follows the queues of a pattern.
    ///
    /// - Parameters:
    ///   - broker: The broker, which the model keeps.
    ///   - pattern: Which queues are followed.
    ///   - clock: The clock of the wait after an error.
    public init(
        _ broker: Broker,
        _ pattern: QueuePattern,
        clock: any BrokerClock = SystemClock()
    ) {
        self.broker = broker
        list = FollowedStates(clock) { broker.observe(statuses: pattern, after: $0) }
    }

    /// The status of a queue; `nil` if it has no work or is not of the pattern.
    public subscript(queue: QueueName) -> QueueStatus? { statuses[id: queue] }

    /// Ends the waits of a queue for retries and unparks it: see `Broker.retryNow(_:)`.
    ///
    /// - Returns: Whether it has waited or was parked; `nil` after an error.
    @discardableResult
    public func retry(_ queue: QueueName) -> Task<Bool?, Never> {
        perform { [broker] () async throws(SluiceError) -> Bool in
            try await broker.retryNow(QueuePattern(queue.rawValue)) > 0
        }
    }
}
#endif
