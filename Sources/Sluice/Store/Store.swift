internal import Logging
internal import SluiceSQLite
internal import Synchronization

/// Owns the file of queues and its connections, one per file and process.
///
/// Each of its calls is a transaction or a snapshot.
package final class Store: Sendable {
    package let location: DatabaseFile.Location
    /// What the file was before this opening.
    package let origin: Migrator.Origin
    let file: DatabaseFile
    let writer: Writer
    let clock: any BrokerClock
    let reader: Reader?
    /// `nil` in memory.
    let lookout: Lookout?
    let backups: Backups
    let check: FileCheck
    let place: any WorkPlace
    let executor: (any TaskExecutor)?
    let logger: Logger
    let mountFacts: @Sendable (String) -> MountFacts?
    let isReadOnly: Bool
    /// `nil` if the writer holds it.
    let registration: OpenFiles.Registration?
    let turns = TurnCounter()
    let runners: RunnerState
    let identity: ProcessIdentity
    let interest: Interest
    let waiters = SettlementWaiters()
    let ownSettlements = OwnSettlements()
    /// A random number of this opening: the part of idempotency keys that no other file has.
    let nonce = Int64.random(in: .min ... .max)
    /// The address of the writer's connection, to distinguish it from the application's.
    let writerAddress = Atomic(0)
    /// The WAL's path as SQLite has it; `nil` in memory, and if the file is only read.
    let walPath: String?
    /// When ``checkWAL()`` last copied the WAL, and whether it is doing so.
    let walCare = Mutex<(last: Duration?, isUnderWay: Bool)>((nil, false))

    /// Opens the file, creating and migrating it as needed and allowed.
    ///
    /// `onCommit` is called after each commit that may have made a queue ready, in the order of commits, on
    /// the committing thread. It must not block.
    package init(
        _ location: DatabaseFile.Location,
        options: BrokerOptions,
        onCommit: @escaping @Sendable (CommitReport) -> Void
    ) throws(SluiceError) {
        let file = DatabaseFile(try location.absolute(), options)
        (self.location, self.file) = (file.location, file)
        (clock, isReadOnly, runners) = (options.clock, options.file.role == .readOnly, RunnerState())
        (place, executor, logger) = (options.engine.place, options.engine.executor, options.logger)
        (backups, interest) = (Backups(options.engine), Interest(options.logger))
        (identity, mountFacts) = (options.file.identity ?? .current, options.file.mountFacts)
        let entered = try Self.enter(file.location, options)
        let check = FileCheck(entered?.path)
        self.check = check
        do {
            if isReadOnly {
                (reader, writer) = try Self.openToRead(file, entered?.path, check, options)
                (lookout, walPath, origin) = (nil, nil, .queues)
                registration = entered?.registration
                return
            }
            let (connection, before, hadWAL) = try file.open(now: options.clock.now)
            writerAddress.store(Int(bitPattern: connection.rawHandle), ordering: .releasing)
            (walPath, origin) = (connection.walPath, before)
            check.connected(walPath: walPath)
            let core = TransactionCore(
                connection: connection,
                nonce: nonce,
                identity: identity,
                leases: options.file.leases,
                clock: options.clock,
                writeBehind: options.file.writeBehind,
                runners: runners,
                events: EventJournal(connection, interest),
                settledActions: SettledActions(waiters: waiters),
                ownSettlements: ownSettlements
            )
            let walGuard =
                options.file.hasResetBug ? WALGuard(connection, file, nonce, identity, options) : nil
            let committer = GroupCommitter(
                transaction: WriteTransaction(core),
                turns: turns,
                registration: entered?.registration,
                check: check,
                walGuard: walGuard,
                hadWAL: hadWAL,
                options: options,
                onCommit: onCommit
            )
            writer = Writer(committer, check, options.engine)
        } catch {
            entered?.registration?.end(closing: {})
            throw error
        }
        registration = nil
        reader = entered.map { path, _ in
            Reader(path, check, options.engine, open: { FileLook(try file.openReader(path)) })
        }
        lookout = entered.map { [runners] path, _ in Lookout(file, path, runners, options.engine) }
    }

    /// Creates the file if it is missing and allowed, and registers it as open; does nothing in memory.
    private static func enter(
        _ location: DatabaseFile.Location,
        _ options: BrokerOptions
    ) throws(SluiceError) -> (path: String, registration: OpenFiles.Registration?)? {
        guard case .file(let path) = location else { return nil }
        try DatabaseFile.checkMount(path, options.file.mountFacts(path))
        if options.file.makesMissing, options.file.role != .readOnly {
            try DatabaseFile.createPrivateFile(path)
        }
        return (path, options.file.sharesFile ? nil : try OpenFiles.register(path))
    }

    deinit {
        // A child of `fork` must not use anything of its parent.
        if check.isForked { return }
        Task(executorPreference: executor) { [backups, reader, lookout, writer, waiters, registration] in
            await Self.close(backups, reader, lookout, writer, registration)
            waiters.close()
        }
    }

    package func close() async {
        await Self.close(backups, reader, lookout, writer, registration)
        if !check.isForked { waiters.close() }
    }

    /// The writer's connection is closed last: it ends the registration of the file.
    private static func close(
        _ backups: Backups,
        _ reader: Reader?,
        _ lookout: Lookout?,
        _ writer: Writer,
        _ registration: OpenFiles.Registration?
    ) async {
        if writer.isForked { return }
        await backups.end(SluiceError(.closed, "the broker was closed"))
        await lookout?.close()
        await reader?.close()
        await writer.close()
        registration?.end(closing: {})
    }

    /// Writes without waiting; the completion is called after the commit, on some thread, and must not block.
    func write<Output: Sendable>(
        sync: SyncNeed,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output,
        completion: @escaping @Sendable (Result<Output, SluiceError>) -> Void
    ) { writer.submit(Write(sync: sync, body: body, completion: completion)) }

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
                self.writer.submit(write)
                withdrawal.submitted {
                    if self.writer.withdraw(write) {
                        continuation.resume(returning: .failure(CancellationError()))
                    }
                }
            }
        } onCancel: {
            withdrawal.cancel()
        }
        return try result.get()
    }

    func writeBlocking<Output: Sendable>(
        sync: SyncNeed,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Output
    ) throws(SluiceError) -> Output {
        let done = place.signal()
        let result = Mutex<Result<Output, SluiceError>?>(nil)
        write(sync: sync, body) { outcome in
            result.withLock { $0 = outcome }
            done.send()
        }
        done.wait()
        guard let result = result.withLock({ $0 }) else {
            preconditionFailure("a write was completed without a result")
        }
        return try result.get()
    }

    /// Reads one snapshot of the file; in memory, with its one connection, between two writes.
    func read<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws(SluiceError) -> Output {
        guard let reader else { return try await write(sync: .later) { try body($0.connection) } }
        return try await reader.read(body)
    }
}

/// Withdraws a write when its task is cancelled, if its group has not begun.
private final class Withdrawal: Sendable {
    private let state = Mutex<(isCancelled: Bool, withdraw: (@Sendable () -> Void)?)>((false, nil))

    /// Called when the write is in line or done.
    func submitted(_ withdraw: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.withdraw = withdraw
            return state.isCancelled
        }
        if isCancelled { withdraw() }
    }

    func cancel() {
        let withdraw = state.withLock { state in
            state.isCancelled = true
            return state.withdraw
        }
        withdraw?()
    }
}
