#if ServiceLifecycle
public import ServiceLifecycle

/// A broker runs as a service until the group shuts down, then stops with ``BrokerOptions/stopGrace``.
extension Broker: Service {}
#endif

package func withGracefulStop<Output>(
    _ operation: () async throws -> Output,
    onStop: @escaping @Sendable () -> Void
) async rethrows -> Output {
    #if ServiceLifecycle
    try await withGracefulShutdownHandler(operation: operation, onGracefulShutdown: onStop)
    #else
    try await operation()
    #endif
}
