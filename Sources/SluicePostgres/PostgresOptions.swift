#if PostgreSQL
internal import Sluice

/// What a broker needs to know of its server, besides the options of every broker.
public struct PostgresOptions: Sendable {
    /// The schema that has the queues; it is made if it is missing.
    ///
    /// Each schema has queues of its own.
    public var schema = "sluice"
    /// How long the server keeps a worker's queues for it without a sign of life, from 1 second to 1 hour.
    ///
    /// It is renewed long before. After it, other workers run the queues, so that a handler which ignores
    /// its cancellation may still be running.
    public var lease: Duration = .seconds(30)
    /// How long at most an idle worker does not look for work: from 10 milliseconds to 10 seconds.
    ///
    /// Enqueues of others are noticed within this time, with ``listens`` usually at once.
    public var pollInterval: Duration = .milliseconds(250)
    /// Whether an idle worker listens on a connection of its own to be woken by enqueues.
    ///
    /// `LISTEN` does not work through a connection pooler that shares connections between transactions, such
    /// as PgBouncer in transaction mode: there set it to `false`, or give ``listeningURL``.
    public var listens = true
    /// The address to listen at, if others than listening calls go through a pooler.
    public var listeningURL: String?
    /// The name of this worker in statuses and views; by default the host's name and the process's number.
    public var workerName: String?
    /// Whether a missing schema is made, and an older one updated.
    package var makesMissing = true
    /// How often a worker does its periodic tasks.
    package var choreInterval: Duration = .seconds(1)
    /// For how long a worker with handlers waits for an outcome before it tells the server that it waits,
    /// which is a commit of its own.
    package var linger: Duration = .milliseconds(2)
    /// After how many claims a worker starts nothing until its handlers have returned, and registers again.
    ///
    /// A claim's number has 32 bits besides the worker's; a call may give many.
    package var claimLimit: Int64 = 4_000_000_000
    /// What makes its connections; in tests it may lead to a model of a server.
    package var connector: any PostgresConnector = LibpqConnector()
    /// Sets the server's clock to the broker's with each call, in tests: see `PostgresSchema`.
    package var setsServerClock = false

    /// The default options.
    public init() {}

    func validate() throws(SluiceError) {
        func check(_ isValid: Bool, _ message: String) throws(SluiceError) {
            guard isValid else { throw SluiceError(.invalidOptions, message) }
        }
        let isName = (1...50).contains(schema.utf8.count) && !schema.utf8.contains(0)
        try check(isName, "the schema's name has \(schema.utf8.count) bytes; give 1 to 50, without a NUL")
        try check(schema != "$user", "a schema named $user cannot be in a search path; give another name")
        let isLease = lease >= .seconds(1) && lease <= .seconds(3_600)
        try check(isLease, "lease is \(lease); give 1 second to 1 hour")
        let isInterval = pollInterval >= .milliseconds(10) && pollInterval <= .seconds(10)
        try check(isInterval, "pollInterval is \(pollInterval); give 10 milliseconds to 10 seconds")
    }
}
#endif
