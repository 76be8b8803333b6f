public import Sluice

/// Gates that follow what the application can observe, such as whether a server answers.
extension Broker {
    /// Opens a gate while a probe says yes and closes it while it says no, until the task is cancelled.
    ///
    /// ```swift
    /// try await broker.keepGate("network", every: .seconds(30)) { await server.isReachable }
    /// ```
    ///
    /// The probe is called at once, and again an interval after each answer, by `BrokerOptions.clock`. The
    /// gate follows the last answer, whoever else has opened or closed it: use another name for gates that
    /// handlers close. When the call ends, the gate stays as it is, as nobody knows that it has changed.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - interval: The time between two calls of the probe; more than zero.
    ///   - spread: As in `openGate(_:isPersistent:spread:)`.
    ///   - probe: Limits its own time. While it has not answered, the gate stays as it is.
    /// - Throws: `SluiceError` `invalidGate`, `invalidOptions` for the interval, and errors of the file,
    ///   except a lock timeout, after which the next probe follows in a second. The end of the task and of
    ///   the broker are normal returns.
    public func keepGate(
        _ name: GateName,
        every interval: Duration,
        spread: Duration = .zero,
        probe: @Sendable () async -> Bool
    ) async throws(SluiceError) {
        guard interval > .zero else {
            throw SluiceError(.invalidOptions, "the interval between two probes of a gate is not positive")
        }
        repeat {
            guard try await keep(name, spread, as: probe) else { return }
        } while await hasPassed(interval)
    }

    private func hasPassed(_ interval: Duration) async -> Bool {
        let clock = options.clock
        do {
            try await clock.sleep(untilUptime: clock.uptime + interval)
            return true
        } catch {
            return false
        }
    }

    /// Sets a gate to what a probe says; while the file is locked, both are tried again each second.
    ///
    /// - Returns: Whether the gate is set; `false` at the end of the task or of the broker.
    func keep(
        _ name: GateName,
        _ spread: Duration,
        as probe: () async -> Bool
    ) async throws(SluiceError) -> Bool {
        repeat {
            let isOpen = await probe()
            // A probe that was cancelled has no answer.
            if Task.isCancelled { return false }
            do throws(SluiceError) {
                if isOpen {
                    try await openGate(name, spread: spread)
                } else {
                    try await closeGate(name)
                }
                return true
            } catch {
                if error.code == .closed { return false }
                guard error.code == .databaseLocked else { throw error }
            }
        } while await hasPassed(.seconds(1))
        return false
    }
}
