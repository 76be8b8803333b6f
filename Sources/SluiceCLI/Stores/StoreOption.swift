#if CommandLineTool
internal import ArgumentParser
internal import Sluice
#if PostgreSQL
internal import SluicePostgres
#endif

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Where the queues are: in a file, or on a server of PostgreSQL.
struct StoreOption: ParsableArguments {
    @Option(
        name: [.customShort("f"), .customLong("file")],
        help: ArgumentHelp("The file of queues.", valueName: "path"),
        completion: .file()
    )
    var file: String?

    @Option(
        help: ArgumentHelp(
            "Instead of a file: the address of a PostgreSQL database, as libpq reads it. Other users can see "
                + "it in a list of processes: keep passwords in ~/.pgpass, in PGPASSWORD or in a service "
                + "file.",
            valueName: "url"
        )
    )
    var postgres: String?

    @Option(
        help: ArgumentHelp(
            "With --postgres: the schema that has the queues (default: sluice).",
            valueName: "name"
        )
    )
    var schema: String?

    func validate() throws {
        func refuse(_ isWrong: Bool, _ message: String) throws {
            if isWrong { throw ValidationError(message) }
        }
        try refuse(file == "", "--file is empty; give the path of a file")
        try refuse(file == nil && postgres == nil, "give one of --file and --postgres")
        try refuse(file != nil && postgres != nil, "--file and --postgres exclude each other")
        try refuse(schema != nil && postgres == nil, "--schema needs --postgres")
        guard let postgres else { return }
        try refuse(
            postgres.isEmpty,
            "--postgres is empty; give an address, or postgres:// for the one in libpq's environment"
        )
        try refuse(
            Secrets.hasUnescapedPassword(postgres),
            "--postgres has more than one @, or a / before it: write special characters of a password as "
                + "%XX, such as %40 for @"
        )
        #if !PostgreSQL
        throw ValidationError(
            "this tool was built without PostgreSQL: install libpq-dev, and build it with "
                + Surroundings.buildCommand(adding: "PostgreSQL")
        )
        #endif
    }

    /// Whether the queues are on a server.
    var isServer: Bool { postgres != nil }

    /// The name in titles; without a password.
    func title(_ broker: Broker) -> String { file ?? broker.engine.place }

    /// Returns the path, for a verb that is for files alone.
    ///
    /// - Parameter advice: What to do with a server instead.
    func path(orAdvise advice: String) throws -> String {
        guard let file else { throw ValidationError("this verb is for files: \(advice)") }
        return file
    }

    /// Opens the queues to run them; a missing file or schema is made.
    ///
    /// - Parameter lease: How long a server keeps the queues for this process; `nil` is the default.
    func open(_ options: BrokerOptions, lease: Duration? = nil) async throws -> Broker {
        guard let file else { return try await openServer(options, makesMissing: true, lease: lease) }
        let broker = try await Broker(file: file, options: options)
        remarkOnOrigin(of: broker)
        return broker
    }

    /// Says that the file is new, which a slip in its path would make it too, or was a database of others.
    private func remarkOnOrigin(of broker: Broker, namesNew: Bool = true) {
        guard let file else { return }
        switch broker.fileEngine.store.origin {
        case .queues: break
        case .empty: if namesNew { Terminal.remark("\(file) is new: there was no such file of queues") }
        case .others:
            Terminal.remark(
                "the tables of the queues were added to \(file), a database that has tables of others"
            )
        }
    }

    /// Opens the queues to enqueue; a missing file or schema is made.
    ///
    /// - Parameter namesNew: Whether a new file is named, as by a slip one action would never run.
    func openToEnqueue(namesNew: Bool = false) async throws -> Broker {
        var options = BrokerOptions()
        options.file.role = .enqueueOnly
        guard let file else { return try await openServer(options, makesMissing: true) }
        let broker = try await Broker(file: file, options: options)
        remarkOnOrigin(of: broker, namesNew: namesNew)
        return broker
    }

    /// Opens existing queues; makes neither a file nor tables.
    func openExisting(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        guard let file else { return try await openServer(options, makesMissing: false) }
        try Self.check(file)
        var options = options
        options.file.makesMissing = false
        return try await Broker(file: file, options: options)
    }

    /// Throws if there is no such file.
    static func check(_ path: String) throws(Failure) {
        if access(path, F_OK) != 0 && errno == ENOENT {
            throw Failure(
                .cannotOpen,
                "there is no file \(path): check --file; only enqueue, run, drain and import make one"
            )
        }
    }

    private func openServer(
        _ options: BrokerOptions,
        makesMissing: Bool,
        lease: Duration? = nil
    ) async throws -> Broker {
        #if PostgreSQL
        var server = PostgresOptions()
        server.schema = schema ?? server.schema
        server.lease = lease ?? server.lease
        server.makesMissing = makesMissing
        do throws(SluiceError) {
            return try await Broker(postgres: postgres ?? "", options: options, server: server)
        } catch {
            guard error.code == .schemaMissing else { throw error }
            throw Failure(
                .cannotOpen,
                "\(error.message): check --postgres and --schema; only enqueue, run, drain and import make "
                    + "queues"
            )
        }
        #else
        // The arguments have been refused.
        throw Failure(.usage, "this tool was built without PostgreSQL")
        #endif
    }
}

extension StoreOption {
    /// Opens existing queues for reading.
    func withReader<Output>(
        _ options: BrokerOptions = BrokerOptions(),
        _ work: (Broker) async throws -> Output
    ) async throws -> Output {
        var options = options
        options.file.role = .readOnly
        return try await withBroker(options, work)
    }

    /// Opens existing queues for one piece of work.
    func withBroker<Output>(
        _ options: BrokerOptions = BrokerOptions(),
        _ work: (Broker) async throws -> Output
    ) async throws -> Output {
        let broker = try await openExisting(options)
        do {
            let output = try await work(broker)
            await broker.close()
            return output
        } catch {
            await broker.close()
            throw error
        }
    }
}
#endif
