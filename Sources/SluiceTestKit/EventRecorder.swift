internal import Dispatch
public import Sluice
internal import Synchronization

/// Writes down what a broker tells its observers, for tests to wait for and to check.
public final class EventRecorder: Sendable {
    private struct State {
        var tokens: [ObservationToken] = []
        var sortKeys: [ActionID: SortKey] = [:]
    }

    private let log = EventLog<QueueEvent>()
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "sluice.test.events")

    init() {}

    /// Records what a broker does from now on.
    ///
    /// It keeps everything: use it in tests alone.
    public convenience init(of broker: Broker) {
        self.init()
        attach(to: broker)
    }

    /// What has been told so far.
    public var history: EventHistory {
        EventHistory(log.elements, sortKeys: state.withLock { $0.sortKeys })
    }

    /// Returns an event of a kind when it has been told, before the call or after.
    ///
    /// - Parameters:
    ///   - kind: What is to happen.
    ///   - action: To which action; `nil` is any.
    ///   - queue: In which queue; `nil` is any.
    ///   - count: Which one of those that fit, counted from 1.
    /// - Throws: `CancellationError` when the task is cancelled before, as by a test's time limit.
    @discardableResult
    public func wait(
        for kind: QueueEvent.Kind,
        of action: ActionID? = nil,
        in queue: QueueName? = nil,
        count: Int = 1
    ) async throws(CancellationError) -> QueueEvent {
        precondition(count > 0, "events are counted from 1")
        @Sendable func fitting(_ events: [QueueEvent]) -> ArraySlice<QueueEvent> {
            events.filter { event in
                event.kind == kind && (action == nil || event.action == action)
                    && (queue == nil || event.queue == queue)
            }[...]
        }
        let events = try await log.wait { fitting($0).count >= count }
        return fitting(events)[count - 1]
    }

    func attach(to broker: Broker) {
        let token = broker.observe(on: queue, buffering: .bounded(.max)) { [log] element in
            // There are no gaps in a buffer without a limit.
            if case .event(let event) = element { log.append(event) }
        }
        state.withLock { $0.tokens.append(token) }
    }

    /// Adds an event that no broker has told, to see what is made of it.
    package func add(_ event: QueueEvent) { log.append(event) }

    /// What was enqueued, and by what it is ordered.
    func note(_ actions: [ActionID], _ keys: [SortKey]) {
        state.withLock { state in
            // With a deduplication key it may be an action that was there before.
            for (action, key) in zip(actions, keys) where state.sortKeys[action] == nil {
                state.sortKeys[action] = key
            }
        }
    }

    /// Returns when what was told before has been written down.
    func catchUp() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
