#if PostgreSQL
import Sluice
import SluiceTestKit
import TestSupport

@testable import SluicePostgres

/// A schema of its own on the shared server, for brokers on one clock.
struct PostgresSite: ConformingEngine {
    let clock: ManualClock
    let server: TestServer
    let schema: String

    init(_ server: TestServer, clock: ManualClock = ManualClock()) {
        (self.server, self.clock) = (server, clock)
        schema = "test_\(UInt64.random(in: 0 ... .max))"
    }

    func broker() async throws -> PostgresBroker { try await broker { _, _ in } }

    /// Opens a broker whose server has the time of the manual clock.
    func broker(
        _ change: (inout BrokerOptions, inout PostgresOptions) -> Void
    ) async throws -> PostgresBroker {
        var options = BrokerOptions.on(clock)
        var own = PostgresOptions()
        own.schema = schema
        own.setsServerClock = true
        change(&options, &own)
        if own.setsServerClock { try await setClock() }
        return try await PostgresBroker(server.url, options: options, server: own)
    }

    /// Has the functions of the schema ask the setting for the time.
    private func setClock() async throws {
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: schema))
        try await PostgresSchema.migrate(connection, schema)
        _ = try await connection.call(
            """
            CREATE OR REPLACE FUNCTION @sluice_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
            AS $$ SELECT 'epoch'::timestamptz
                         + current_setting('sluice.test_now')::bigint * interval '1 microsecond' $$
            """
        )
        await connection.close()
    }
}
#endif
