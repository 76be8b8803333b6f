#if PostgreSQL
internal import Logging
#if ServiceLifecycle
public import ServiceLifecycle
#endif
public import Sluice
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Runs the queues of a PostgreSQL database, which any number of processes on any machines share.
///
/// ```swift
/// let broker = try await PostgresBroker("postgres://app@db.example/app")
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
public final class PostgresBroker: Sendable {
    let options: BrokerOptions
    let server: PostgresOptions
    let book: RouteBook
    let runner: AttemptRunner
    let loop: PostgresLoop
    let enqueuer: PostgresEnqueuer
    /// For reads and the acts of operators.
    let calls: PostgresConnection
    let observers: Observers
    let interest: Interest
    let life = Mutex(Life())

    struct Life {
        enum State { case idle, running, closed }
        var state = State.idle
        /// How often the broker has begun to run.
        var runs = 0
        var ended: [CheckedContinuation<Void, Never>] = []
    }

    /// Connects to a server; missing tables are made, by one process at a time.
    ///
    /// - Parameters:
    ///   - url: A connection string of libpq, such as `postgres://user@host/database?sslmode=verify-full`.
    ///     Passwords, certificates and defaults are those of libpq: `~/.pgpass`, `PGSSLROOTCERT` and others.
    ///   - options: What differs from the defaults of every broker; `BrokerOptions/file` has no effect.
    ///   - server: What differs from the defaults of the server.
    /// - Throws: `SluiceError/Code/cannotOpen`, `newerSchema`, `invalidOptions` and errors of the server.
    public init(
        _ url: String,
        options: BrokerOptions = BrokerOptions(),
        server: PostgresOptions = PostgresOptions()
    ) async throws(SluiceError) {
        try options.validate()
        try server.validate()
        (self.options, self.server) = (options, server)
        let address = PostgresAddress(url: url, schema: server.schema)
        let clock: (@Sendable () -> Timestamp)? =
            server.setsServerClock ? { @Sendable [clock = options.clock] in clock.now } : nil
        // A standby answers questions.
        var either = address
        either.isForWriting = false
        calls = PostgresConnection(either, clock: clock)
        do throws(PostgresFailure) {
            try await PostgresSchema.migrate(calls, server.schema, makesMissing: server.makesMissing)
            if server.setsServerClock { try await PostgresSchema.setClock(calls) }
        } catch {
            await calls.close()
            throw error.error(doing: "opening the schema '\(server.schema)'")
        }
        book = RouteBook(options)
        interest = Interest(options.logger)
        observers = Observers(interest)
        loop = PostgresLoop(
            // After a failover the server may not know what it had answered: the loop must hear of each loss.
            PostgresConnection(address, reportsLoss: true, clock: clock),
            book,
            options,
            server,
            observers,
            listener: server.listens
                ? PostgresConnection(PostgresAddress(url: server.listeningURL ?? url, schema: server.schema))
                : nil
        )
        runner = AttemptRunner(source: loop, reader: book.reader, drafter: book.drafter, options: options)
        enqueuer = PostgresEnqueuer(PostgresConnection(address, clock: clock), options)
        loop.connect(runner)
        loop.origin.connect(self)
    }

    /// What the broker has done since it was opened.
    public var statistics: Statistics { runner.statistics }

    /// Closes the broker after its handlers have returned; later calls throw `SluiceError/Code/closed`.
    public func close(grace: Duration? = nil) async {
        runner.ensureNotInHandler("close(grace:)")
        await stop(grace: grace)
        life.withLock { $0.state = .closed }
        await enqueuer.close()
        await loop.close()
        await calls.close()
        observers.end()
        book.close()
    }

    /// Reads, again if the connection is lost, and converts errors.
    func read(
        _ task: String,
        _ sql: String,
        _ parameters: [String?] = []
    ) async throws(SluiceError) -> PostgresRows {
        try await call(task, sql, parameters, isChange: false) { $0.mayRepeatRead }
    }

    /// Has the server do something, and converts its errors.
    func write(
        _ task: String,
        _ sql: String,
        _ parameters: [String?]
    ) async throws(SluiceError) -> PostgresRows {
        try await call(task, sql, parameters, isChange: true, mayRepeat: \.isPassing)
    }

    private func call(
        _ task: String,
        _ sql: String,
        _ parameters: [String?],
        isChange: Bool,
        mayRepeat: (PostgresFailure) -> Bool
    ) async throws(SluiceError) -> PostgresRows {
        var tries = 0
        while true {
            do throws(PostgresFailure) {
                return try await calls.call(sql, parameters)
            } catch {
                tries += 1
                guard mayRepeat(error), tries < 5 else {
                    throw error.error(doing: task, isChange: isChange)
                }
                await pause(tries)
            }
        }
    }

    /// Something has changed that workers and observers may have to look at.
    func changed() {
        loop.changes.change()
        loop.kick()
        observers.poke(nil)
    }
}

/// Waits a moment before another try, longer each time up to a limit, and not in step with others.
func pause(_ tries: Int, atMost limit: Duration = .seconds(5)) async {
    let longest = min(.milliseconds(20) * (1 << min(tries, 8)), limit)
    // A cancelled task tries at once. The time is the real one: a server is waited for.
    try? await ContinuousClock().sleep(for: longest * Double.random(in: 0.5...1))
}

extension PostgresBroker: ActionBroker {}

#if ServiceLifecycle
extension PostgresBroker: Service {}
#endif
#endif
