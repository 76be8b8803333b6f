#if PostgreSQL
package import Sluice
package import SluicePostgres
package import SluiceTestKit

/// A schema of its own on the shared server, for brokers on one clock.
package struct PostgresSite: Sendable {
    package let clock: ManualClock
    package let server: TestServer
    package let schema: String

    /// - Parameter schema: `nil` is a new one.
    package init(_ server: TestServer, clock: ManualClock = ManualClock(), schema: String? = nil) {
        (self.server, self.clock) = (server, clock)
        self.schema = schema ?? "test_\(UInt64.random(in: 0 ... .max))"
    }

    package func broker() async throws -> Broker { try await broker { _, _ in } }

    /// Opens a broker whose server has the time of the manual clock.
    package func broker(
        _ change: (inout BrokerOptions, inout PostgresOptions) -> Void
    ) async throws -> Broker {
        var options = BrokerOptions.on(clock)
        var own = PostgresOptions()
        own.schema = schema
        own.setsServerClock = true
        change(&options, &own)
        return try await Broker(postgres: server.url, options: options, server: own)
    }
}
#endif
