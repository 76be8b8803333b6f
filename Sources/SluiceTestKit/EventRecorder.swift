internal import Dispatch
public import Sluice
internal import Synchronization

/// Records a broker's events, for tests to wait for and to check.
public final class EventRecorder: Sendable {
    private struct State {
        var tokens: [ObservationToken] = []
        var sortKeys: [ActionID: SortKey] = [:]
        /// The numbers of events before each crash.
        var crashes: [Int] = []
    }

    private let log = EventLog<QueueEvent>()
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "sluice.test.events")

    init() {}

    /// Records the events of a broker from now on.
    ///
    /// It keeps all of them, so use it only in tests.
    public convenience init(of broker: Broker) {
        self.init()
        attach(to: broker)
    }

    /// The events so far.
    public var history: EventHistory {
        let (sortKeys, crashes) = state.withLock { ($0.sortKeys, $0.crashes) }
        var history = EventHistory(log.elements, sortKeys: sortKeys)
        history.crashes = Set(crashes)
        return history
    }

    /// Waits for an event of a kind, before the call or after, and returns it.
    ///
    /// - Parameters:
    ///   - kind: The kind of event.
    ///   - action: The action; `nil` is any.
    ///   - queue: The queue; `nil` is any.
    ///   - count: Which one of the matching events, counted from 1.
    /// - Throws: `CancellationError` when the task is cancelled first, such as by a test's time limit.
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
            // A buffer without a limit has no gaps.
            if case .event(let event) = element { log.append(event) }
        }
        state.withLock { $0.tokens.append(token) }
    }

    /// Adds an event that no broker has sent, for tests of the checks.
    package func add(_ event: QueueEvent) { log.append(event) }

    /// Notes the sort keys of enqueued actions.
    func note(_ actions: [ActionID], _ keys: [SortKey]) {
        state.withLock { state in
            // With a deduplication key it may be an existing action.
            for (action, key) in zip(actions, keys) where state.sortKeys[action] == nil {
                state.sortKeys[action] = key
            }
        }
    }

    /// Notes that the broker of the events so far has crashed.
    func noteCrash() async {
        await catchUp()
        let count = log.elements.count
        state.withLock { $0.crashes.append(count) }
    }

    /// Waits until all earlier events have been recorded.
    func catchUp() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
