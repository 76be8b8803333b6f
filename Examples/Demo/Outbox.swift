#if CommandLineTool
import Sluice

#if PostgreSQL
import SluicePostgres
#endif

/// The queues of the show: everything else is the same for a file and for a server.
enum Outbox {
    /// The schema in the server's database.
    static let schema = "sluice_demo"

    /// Opens a file, or a database by its address.
    static func open(
        _ place: String,
        _ options: BrokerOptions = BrokerOptions()
    ) async throws -> Broker {
        guard place.hasPrefix("postgres://") || place.hasPrefix("postgresql://") else {
            return try await Broker(file: place, options: options)
        }
        #if PostgreSQL
        var server = PostgresOptions()
        server.schema = schema
        // For an audience: after a kill, the next worker waits until this has passed.
        server.lease = .seconds(2)
        return try await Broker(postgres: place, options: options, server: server)
        #else
        throw DemoError("built without PostgreSQL: use swift run --traits CommandLineTool,PostgreSQL …")
        #endif
    }
}
#endif
