import Sluice
import SluiceSQLite

/// One life of a process: a broker that runs the queues, and what enqueues.
struct Life: Sendable {
    let process: SimulatedProcess
    let path: String
    let judge: Judge
    let share: [Note]
    let chance: Chance

    var options: BrokerOptions {
        var options = BrokerOptions()
        options.clock = process.clock
        options.randomness = chance
        options.handlerExecutor = process.executor
        options.engine = EngineContext(process.place, process.executor)
        options.file.vfs = process.vfs
        options.file.identity = ProcessIdentity(
            pid: Int64(abs(process.name.hashValue % 1_000_000)),
            mark: "machine namespace-\(process.name) start"
        )
        options.file.sharesFile = true
        options.file.watchesWAL = false
        options.file.writeBehind.newest = 4
        options.file.writeBehind.batch = 3
        return options
    }

    /// Runs until it is stopped.
    func live(_ opened: @escaping @Sendable (Broker) -> Void) async {
        let broker = await open()
        opened(broker)
        do { try route(broker) } catch { return judge.report("\(process.name) cannot route: \(error)") }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await run(broker) }
            group.addTask { await enqueue(broker) }
        }
    }

    private func open() async -> Broker {
        while true {
            do {
                return try await Broker(file: path, options: options)
            } catch {
                process.world.note("cannot open: \(error)")
                await pause(.milliseconds(200))
            }
        }
    }

    private func run(_ broker: Broker) async {
        while true {
            do {
                try await broker.run()
                return
            } catch {
                process.world.note("run has ended: \(error)")
                await pause(.milliseconds(200))
            }
        }
    }

    private func pause(_ duration: Duration) async {
        do { try await process.clock.sleep(duration) } catch { process.world.note("a pause was cancelled") }
    }

    // MARK: - Enqueuing

    private func enqueue(_ broker: Broker) async {
        var chance = chance
        for note in share {
            await pause(.milliseconds(chance.below(600)))
            await store(note, broker, inOwn: chance.percent(20))
        }
    }

    private func store(_ note: Note, _ broker: Broker, inOwn: Bool) async {
        let key = DeduplicationKey("line \(note.line)", retention: .seconds(86_400))
        while true {
            do {
                let id: ActionID
                if inOwn {
                    id = try await application.write { connection in
                        try broker.enqueue(note, EnqueueOptions(key: key), in: connection.rawHandle).id
                    }
                } else {
                    id = try await broker.enqueue(note, EnqueueOptions(key: key)).id
                }
                judge.acknowledge(note, id)
                return
            } catch {
                process.world.note("line \(note.line) is not enqueued: \(error)")
                await pause(.milliseconds(100))
            }
        }
    }

    private var application: Application { Application(process, path) }

    // MARK: - Handlers

    private func route(_ broker: Broker) throws {
        var options = RouteOptions(retry: .fixed(.milliseconds(50)))
        options.crashLimit = 1_000_000
        var source = chance
        let (life, seed) = (self, source.next())
        try broker.route("q/*", Note.self, options) { note, attempt in
            let run = life.judge.begin(note, attempt)
            var outcome = "cancelled"
            defer { life.judge.end(note, run, outcome) }
            // An attempt goes the same way whenever it begins.
            var chance = Chance(seed &+ UInt64(note.line * 64 + attempt.number))
            let work = chance.below(100)
            if work < 70 { try await life.process.clock.sleep(.microseconds(chance.below(100_000))) }
            if work > 95, attempt.number < 4 {
                outcome = "retry"
                return .retry
            }
            switch note.form {
            case .none: break
            case .engine:
                outcome = "success"
                return .success { try note.write(Connection(borrowing: $0.connection)) }
            case .application:
                outcome = "refused"
                try await life.application.write { connection in
                    try attempt.succeed(in: connection.rawHandle)
                    try note.write(connection)
                }
            }
            outcome = "success"
            return .success
        }
    }
}

/// The application's tables in the engine's file, on connections of its own.
struct Application: Sendable {
    static let table = "CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY, line INTEGER NOT NULL)"
    private let process: SimulatedProcess
    private let path: String

    init(_ process: SimulatedProcess, _ path: String) { (self.process, self.path) = (process, path) }

    func write<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws -> Output {
        let queue = process.place.queue("application", isUrgent: false)
        return try await queue.run {
            Result {
                let connection = try Connection(path: path, mode: .write, vfs: process.vfs)
                defer { connection.close() }
                connection.setBusyTimeout(.seconds(60))
                try connection.set(Pragma("wal_autocheckpoint", 0))
                return try connection.immediate { try body(connection) }
            }
        }.get()
    }
}

extension Note {
    fileprivate func write(_ connection: Connection) throws {
        try connection.prepare("INSERT INTO effects (line) VALUES (?1)").bind(1, line).run()
    }
}
