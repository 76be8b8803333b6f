#if PostgreSQL
internal import Logging
package import Sluice
internal import Synchronization

/// Runs the queues of a schema of PostgreSQL, as one worker of those that share it.
package final class ServerEngine: Engine {
    let options: BrokerOptions
    let server: PostgresOptions
    let book: RouteBook
    package let runner: AttemptRunner
    let loop: PostgresLoop
    let enqueuer: PostgresEnqueuer
    /// For reads and the acts of operators.
    let calls: PostgresConnection
    package let observers: Observers
    let interest: Interest
    let life = Mutex(Life())

    struct Life {
        enum State { case idle, running, closed }
        var state = State.idle
        /// How often the broker has begun to run.
        var runs = 0
        var ended: [CheckedContinuation<Void, Never>] = []
    }

    init(_ url: String, _ server: PostgresOptions, _ parts: EngineParts) async throws(SluiceError) {
        try server.validate()
        (options, book, self.server) = (parts.options, parts.book, server)
        let address = PostgresAddress(url: url, schema: server.schema)
        let clock: (@Sendable () -> Timestamp)? =
            server.setsServerClock ? { @Sendable [clock = options.clock] in clock.now } : nil
        // A standby answers questions.
        var either = address
        either.isForWriting = false
        calls = PostgresConnection(either, by: server.connector, clock: clock)
        do throws(PostgresFailure) {
            try await PostgresSchema.migrate(calls, server.schema, makesMissing: server.makesMissing)
            if server.setsServerClock { try await PostgresSchema.setClock(calls) }
        } catch {
            await calls.close()
            throw error.error(doing: "opening the schema '\(server.schema)'")
        }
        interest = Interest(options.logger)
        observers = Observers(interest)
        loop = PostgresLoop(
            // After a failover the server may not know what it had answered: the loop must hear of each loss.
            PostgresConnection(address, by: server.connector, reportsLoss: true, clock: clock),
            book,
            options,
            server,
            observers,
            PostgresOrigin(schema: server.schema, parts.broker),
            listener: server.listens
                ? PostgresConnection(
                    PostgresAddress(url: server.listeningURL ?? url, schema: server.schema),
                    by: server.connector
                ) : nil
        )
        runner = AttemptRunner(source: loop, reader: book.reader, drafter: book.drafter, options: options)
        enqueuer = PostgresEnqueuer(
            PostgresConnection(address, by: server.connector, clock: clock),
            options
        )
        loop.connect(runner)
    }

    package func close(grace: Duration) async {
        await beginStop(grace: grace)()
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
                await options.engine.place.pause(tries)
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

extension WorkPlace {
    /// Waits a moment before another try; a cancelled task tries at once.
    func pause(_ tries: Int, atMost limit: Duration = .seconds(5)) async {
        try? await sleep(for: pauseLength(tries, atMost: limit))
    }

    /// The time before another try, longer each time up to a limit, and not in step with others.
    func pauseLength(_ tries: Int, atMost limit: Duration = .seconds(5)) -> Duration {
        spread(min(.milliseconds(20) * (1 << min(tries, 8)), limit))
    }
}
#endif
