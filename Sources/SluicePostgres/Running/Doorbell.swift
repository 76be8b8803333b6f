#if PostgreSQL
internal import Logging
internal import Sluice
internal import Synchronization

/// A connection that listens, so that enqueues of others wake an idle worker.
///
/// Nothing depends on it: a worker that cannot listen polls, and tries again after a while.
final class Doorbell: Sendable {
    private struct State {
        /// When to try to listen, by ``WorkPlace/now``; `nil` while it listens or tries to.
        var due: Duration? = .zero
        var isListening = false
    }

    /// After how long a worker that could not listen tries again.
    private static let interval: Duration = .seconds(10)

    private let state = Mutex(State())
    private let connection: PostgresConnection?
    private let channel: String
    private let place: any WorkPlace
    private let logger: Logger

    init(_ connection: PostgresConnection?, schema: String, _ options: BrokerOptions) {
        (self.connection, channel) = (connection, "sluice_\(schema)")
        (place, logger) = (options.engine.place, options.logger)
    }

    /// Whether an enqueue of another process would ring.
    var isListening: Bool { state.withLock { $0.isListening } }

    /// Begins to listen if it does not, beside the steps: connecting takes its time.
    func listen(_ ring: @escaping @Sendable () -> Void) {
        let now = place.now
        let isDue = state.withLock { state in
            guard connection != nil, let time = state.due, time <= now else { return false }
            state.due = nil
            return true
        }
        if isDue { Task { await begin(ring) } }
    }

    func close() async { await connection?.close() }

    private func begin(_ ring: @escaping @Sendable () -> Void) async {
        do throws(PostgresFailure) {
            try await connection?.listen(channel, ring: ring) { [weak self] in
                self?.state.withLock { state in
                    state.isListening = false
                    if !mutant("server doorbell") { state.due = .zero }
                }
                ring()
            }
            state.withLock { $0.isListening = $0.due == nil }
            // Enqueues before this moment have not rung.
            ring()
        } catch {
            let due = place.now + Self.interval
            state.withLock { $0.due = due }
            logger.notice("the worker cannot listen, and polls", metadata: ["error": "\(error)"])
        }
    }
}
#endif
