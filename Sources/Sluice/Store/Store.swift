internal import Dispatch
internal import Logging
internal import SQLite
internal import Synchronization

/// The queues in their file: all SQL of the engine, behind methods that are a transaction each.
///
/// One store per file and process. Its subjects stand in one extension each: enqueue, claim, settle, failure,
/// the running process, an operator's acts, and reading.
package final class Store: Sendable {
    package let location: DatabaseFile.Location
    let writer: Writer
    let clock: any BrokerClock
    private let reader: Reader?
    /// Looks for what others have committed; `nil` in memory.
    let lookout: Lookout?
    let turns = TurnCounter()
    /// As what this store runs the queues, and whether others do.
    let runners = RunnerState()
    /// The process that this store stands for.
    let identity: ProcessIdentity
    /// Who observes the events that commits report.
    let interest = Interest()
    /// Those who wait for an action to be settled.
    let waiters = SettlementWaiters()
    /// Attempts that the application has settled in transactions of its own.
    let ownSettlements = OwnSettlements()
    /// A random number of this opening, the part of idempotency keys that no other file has.
    let nonce = Int64.random(in: .min ... .max)
    /// The file, as it was opened; `nil` in memory.
    let fileIdentity: DatabaseFile.Identity?
    /// The address of the writer's connection, to tell it from those of the application.
    let writerAddress: Int

    /// Opens the file, creating and migrating it as needed and allowed.
    ///
    /// - Parameter onCommit: Called after each commit that may have made a queue ready, in the order of
    ///   commits, on the committing thread. It must not block.
    package init(
        _ location: DatabaseFile.Location,
        options: BrokerOptions,
        onCommit: @escaping @Sendable (CommitReport) -> Void
    ) throws(SluiceError) {
        try options.validate()
        let file = DatabaseFile(
            location,
            lockTimeout: options.lockTimeout,
            makesMissing: options.makesMissing,
            vfs: options.vfs,
            prepare: options.prepareConnection
        )
        var registration: OpenFiles.Registration?
        if case .file(let path) = location {
            if options.makesMissing { try DatabaseFile.createPrivateFile(path) }
            if !options.sharesFile { registration = try OpenFiles.register(path) }
            reader = Reader(file, path)
            lookout = Lookout(file, path, runners)
        } else {
            reader = nil
            lookout = nil
        }
        let connection: Connection
        do {
            connection = try file.open(now: options.clock.now)
        } catch {
            registration?.end(closing: {})
            throw error
        }
        self.location = location
        fileIdentity = registration?.file
        writerAddress = Int(bitPattern: connection.rawHandle)
        clock = options.clock
        identity = options.identity ?? .current
        writer = Writer(
            GroupCommitter(
                transaction: WriteTransaction(
                    connection: connection,
                    nonce: nonce,
                    identity: identity,
                    leases: options.leases,
                    writeBehind: options.writeBehind,
                    runners: runners,
                    interest: interest,
                    waiters: waiters,
                    ownSettlements: ownSettlements
                ),
                turns: turns,
                registration: registration,
                durability: options.durability,
                lockTimeout: options.lockTimeout,
                clock: options.clock,
                logger: options.logger,
                onCommit: onCommit
            )
        )
    }

    deinit {
        // A store that was closed has nothing left to do here.
        Task { [reader, lookout, writer, waiters] in
            await Self.close(reader, lookout, writer)
            waiters.close()
        }
    }

    /// Commits what waits, refuses what comes, and closes the file.
    package func close() async {
        await Self.close(reader, lookout, writer)
        waiters.close()
    }

    /// The writer's connection is the last to be closed: it ends the registration of the file.
    private static func close(_ reader: Reader?, _ lookout: Lookout?, _ writer: Writer) async {
        await lookout?.close()
        await reader?.close()
        await writer.close()
    }
}

// MARK: - Ways to write

extension Store {
    /// Writes without waiting.
    ///
    /// The completion is called after the commit, on some thread, and must not block.
    ///
    /// - Parameter isAlone: Whether it shares its transaction with no other write.
    func write<Output: Sendable>(
        sync: SyncNeed,
        isAlone: Bool = false,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output,
        completion: @escaping @Sendable (Result<Output, SluiceError>) -> Void
    ) {
        writer.submit(Write(sync: sync, isAlone: isAlone, body: body, completion: completion))
    }

    /// Writes, whether the task is cancelled or not.
    func write<Output: Sendable>(
        sync: SyncNeed,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output
    ) async throws(SluiceError) -> Output {
        try await withCheckedContinuation { continuation in
            write(sync: sync, body) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Writes, unless the task is cancelled before the write's group begins.
    func writeUnlessCancelled<Output: Sendable>(
        sync: SyncNeed,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output
    ) async throws -> Output {
        try Task.checkCancellation()
        let withdrawal = Withdrawal()
        let result: Result<Output, any Error> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let write = Write(sync: sync, body: body) { result in
                    continuation.resume(returning: result.mapError { $0 })
                }
                withdrawal.arm {
                    if self.writer.withdraw(write) {
                        continuation.resume(returning: .failure(CancellationError()))
                    }
                }
                self.writer.submit(write)
                withdrawal.submitted()
            }
        } onCancel: {
            withdrawal.cancel()
        }
        return try result.get()
    }

    /// Writes and blocks the calling thread until the commit.
    func writeBlocking<Output: Sendable>(
        sync: SyncNeed,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output
    ) throws(SluiceError) -> Output {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Output, SluiceError>?>(nil)
        write(sync: sync, body) { outcome in
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        guard let result = result.withLock({ $0 }) else {
            preconditionFailure("a write was completed without a result")
        }
        return try result.get()
    }
}

// MARK: - Reading

extension Store {
    /// Reads one snapshot of the file; in memory, where there is one connection, between two writes.
    func read<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws(SluiceError) -> Output {
        guard let reader else { return try await write(sync: .later) { try body($0.connection) } }
        return try await reader.read(body)
    }
}

/// Takes a write back when its task is cancelled, if the two meet in time.
private final class Withdrawal: Sendable {
    private struct State {
        var isSubmitted = false
        var isCancelled = false
        var withdraw: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func arm(_ withdraw: @escaping @Sendable () -> Void) {
        state.withLock { $0.withdraw = withdraw }
    }

    /// The write stands in line, or is done.
    func submitted() {
        act { $0.isSubmitted = true }
    }

    func cancel() {
        act { $0.isCancelled = true }
    }

    private func act(_ change: (inout State) -> Void) {
        let withdraw = state.withLock { state -> (@Sendable () -> Void)? in
            change(&state)
            guard state.isSubmitted && state.isCancelled else { return nil }
            defer { state.withdraw = nil }
            return state.withdraw
        }
        withdraw?()
    }
}
