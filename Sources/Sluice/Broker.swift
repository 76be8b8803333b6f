/// Opens a file of queues, routes them to handlers and runs their heads.
///
/// ```swift
/// let broker = try await Broker(file: "outbox.sqlite")
/// try broker.route("conversation/*", SendMessage.self) { message, attempt in
///     try await server.send(message.text, transaction: attempt.idempotencyKey)
///     return .success
/// }
/// try await broker.enqueue(SendMessage(…))   // durable when it returns
/// try await broker.run()                     // until stopped
/// ```
///
/// Enqueuing works from opening to closing, also inside handlers. A file has one broker in a process; share
/// it. If released without ``close(grace:)``, it closes its file when no handler runs, asynchronously.
///
/// A call that only the library can fail throws ``SluiceError`` alone, as `throws(SluiceError)` says. A call
/// that runs code of the application, or that a cancelled task ends, throws any error.
public final class Broker: Sendable {
    package let engine: any Engine
    let book: RouteBook
    package let options: BrokerOptions

    /// Opens a file of queues; a missing file is created, readable by its owner only.
    ///
    /// - Parameters:
    ///   - path: The database, in a writable directory: SQLite keeps two more files beside it.
    ///   - options: What differs from the defaults.
    /// - Throws: ``SluiceError/Code/cannotOpen``, ``SluiceError/Code/alreadyOpen`` and others, with the file
    ///   unchanged.
    public convenience init(
        file path: String,
        options: BrokerOptions = BrokerOptions()
    ) async throws(SluiceError) {
        try await self.init(options) { parts throws(SluiceError) in try await FileEngine(.file(path), parts) }
    }

    /// Opens queues in memory, with the same order and rules.
    ///
    /// Nothing survives the process (G1, G8), and no other process or connection can take part.
    public static func inMemory(
        _ options: BrokerOptions = BrokerOptions()
    ) async throws(SluiceError) -> Broker {
        try await Broker(options) { parts throws(SluiceError) in try await FileEngine(.memory, parts) }
    }

    /// Makes a broker over the engine that a closure opens.
    package init(
        _ options: BrokerOptions,
        open: (EngineParts) async throws(SluiceError) -> any Engine
    ) async throws(SluiceError) {
        try options.validate()
        let reference = BrokerReference()
        self.options = options
        book = RouteBook(options)
        engine = try await open(EngineParts(options: options, book: book, broker: reference))
        reference.connect(self)
    }

    var runner: AttemptRunner { engine.runner }
    var drafter: Drafter { book.drafter }
    /// What the broker has done since it was opened.
    public var statistics: Statistics { runner.statistics }
}
