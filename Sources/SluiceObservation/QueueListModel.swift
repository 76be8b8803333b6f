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
    public private(set) var statuses: [QueueStatus] = []
    /// Whether ``statuses`` has been read: before that, it is empty.
    public private(set) var isLoaded = false
    /// The last error of reading or of a call of this model; set it to `nil` when it has been shown.
    ///
    /// After an error of reading the model reads again, a second later, and clears the error.
    public var error: SluiceError?
    private let broker: any ActionBroker
    @ObservationIgnored var latest: Task<Void, Never>?
    @ObservationIgnored private var following: Following?

    /// Makes a model that follows the queues of a pattern.
    ///
    /// - Parameter clock: The clock of the wait after an error.
    public init(
        _ broker: any ActionBroker,
        _ pattern: QueuePattern,
        clock: any BrokerClock = SystemClock()
    ) {
        self.broker = broker
        following = Following(
            clock,
            { broker.observe(statuses: pattern, after: nil) },
            show: { [weak self] in self?.show($0) != nil }
        )
    }

    /// The status of a queue; `nil` if it has no work or is not of the pattern.
    public subscript(queue: QueueName) -> QueueStatus? { statuses[id: queue] }

    /// Ends the waits of a queue for retries and unparks it: see `Broker.retryNow(_:)`.
    @discardableResult
    public func retry(_ queue: QueueName) -> Task<Void, Never> {
        perform { [broker] () async throws(SluiceError) in
            _ = try await broker.retryNow(QueuePattern(queue.rawValue))
        }
    }

    private func show(_ result: Result<QueueStatusListUpdate, SluiceError>) {
        switch result {
        case .failure(let error): self.error = error
        case .success(let update):
            if update.isSnapshot { (error, isLoaded) = (nil, true) }
            statuses.apply(update)
        }
    }
}
#endif
