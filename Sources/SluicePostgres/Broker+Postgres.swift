#if PostgreSQL
public import Sluice

/// Queues in a PostgreSQL database, which any number of processes on any machines share.
///
/// ```swift
/// let broker = try await Broker(postgres: "postgres://app@db.example/app")
/// try broker.route("conversation/*", SendMessage.self) { message, attempt in
///     try await server.send(message.text, key: attempt.idempotencyKey)
///     return .success
/// }
/// try await broker.enqueue(SendMessage(…))
/// try await broker.run()
/// ```
///
/// Actions, routes, handlers, policies and guarantees are those of `Broker`; what differs is on the page of
/// this product. An action is as durable as a commit of the server.
extension Broker {
    /// Connects to a server; missing tables are made, by one process at a time.
    ///
    /// - Parameters:
    ///   - url: A connection string of libpq, such as `postgres://user@host/database?sslmode=verify-full`.
    ///     Passwords, certificates and defaults are those of libpq: `~/.pgpass`, `PGSSLROOTCERT` and others.
    ///   - options: What differs from the defaults of every broker; `BrokerOptions/file` has no effect.
    ///   - server: What differs from the defaults of the server.
    /// - Throws: `SluiceError/Code/cannotOpen`, `newerSchema`, `invalidOptions` and errors of the server.
    public convenience init(
        postgres url: String,
        options: BrokerOptions = BrokerOptions(),
        server: PostgresOptions = PostgresOptions()
    ) async throws(SluiceError) {
        try await self.init(options) { parts throws(SluiceError) in try await ServerEngine(url, server, parts)
        }
    }

    /// The engine of a broker that is known to be on a server.
    package var serverEngine: ServerEngine {
        guard let engine = engine as? ServerEngine else { preconditionFailure("the broker has no server") }
        return engine
    }
}
#endif
