#if ServiceLifecycle
public import ServiceLifecycle

/// A broker runs as a service until the group shuts down, then stops with ``BrokerOptions/stopGrace``.
extension Broker: Service {}

extension Broker {
    func withGracefulStop(_ operation: () async -> Void, onStop: @escaping @Sendable () -> Void) async {
        await withGracefulShutdownHandler(operation: operation, onGracefulShutdown: onStop)
    }
}
#else
extension Broker {
    func withGracefulStop(_ operation: () async -> Void, onStop: @escaping @Sendable () -> Void) async {
        await operation()
    }
}
#endif
