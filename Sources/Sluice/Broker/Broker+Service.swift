#if ServiceLifecycle
public import ServiceLifecycle

/// A broker runs as a service until the group shuts down, then stops with ``BrokerOptions/stopGrace``.
extension Broker: Service {}
#endif

extension Broker {
    func withGracefulStop(_ operation: () async -> Void, onStop: @escaping @Sendable () -> Void) async {
        #if ServiceLifecycle
        await withGracefulShutdownHandler(operation: operation, onGracefulShutdown: onStop)
        #else
        await operation()
        #endif
    }
}
