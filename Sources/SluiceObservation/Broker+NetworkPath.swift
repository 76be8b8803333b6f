#if canImport(Network)
public import Network
public import Sluice

extension Broker {
    /// Opens a gate while the system has a path to the network, until the task is cancelled.
    ///
    /// ```swift
    /// try await broker.keepGate("network", while: NWPathMonitor())
    /// ```
    ///
    /// A path says nothing of the server: requests can still fail. Errors and the end are as for
    /// `keepGate(_:every:spread:probe:)`, which is the way on other systems.
    ///
    /// *Untested:* it is not run by the tests of this library, which run on Linux.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - monitor: A monitor that has not been started.
    ///   - spread: As in `openGate(_:isPersistent:spread:)`.
    public func keepGate(
        _ name: GateName,
        while monitor: NWPathMonitor,
        spread: Duration = .zero
    ) async throws(SluiceError) {
        for await _ in monitor {
            // The newest path: another may have come while the file was locked.
            guard try await keep(name, spread, as: { monitor.currentPath.status == .satisfied }) else {
                return
            }
        }
    }
}
#endif
