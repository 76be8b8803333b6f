internal import Logging
internal import Synchronization

/// Letting go of the file while the system suspends the process.
///
/// iOS ends an application that holds a lock on a file in a shared container while it is suspended. An
/// application whose file stands there suspends its broker when it goes to the background, and resumes it
/// when it comes back.
extension Broker {
    /// Ends the transaction that is open, gives up every lock on the file and closes it, until ``resume()``.
    ///
    /// - Writes and reads that come meanwhile wait; a cancelled one that would have been withdrawn from the
    ///   line still is. A call that blocks its thread, such as ``enqueueBlocking(_:notBefore:)``, blocks it
    ///   until then.
    /// - Handlers that run go on, and what they return waits to be written. Nothing new starts.
    /// - Copies that ``backup(to:)`` makes end with ``SluiceError/Code/suspended``.
    /// - ``stop(grace:)`` begins at once and returns after ``resume()``. ``close(grace:)`` opens the file
    ///   once more, to write what waits.
    /// - Other processes run what waits. The right to run queues lapses after 30 seconds, as that of a
    ///   process that has stopped; then they may also run what this one ran.
    ///
    /// It waits for the group that is being committed, and that group for another connection's lock no longer
    /// than ``BrokerOptions/lockTimeout``; and where SQLite has the WAL-reset bug up to a second for the
    /// checkpoints of others. A broker that is suspended stays so. In memory
    /// nothing happens.
    public func suspend() async {
        guard let told = suspension.told else { return await letGo() }
        // Whoever uses a broker that does not run leaves what it has enqueued to the next time to run.
        var work: RemainingWork?
        if !isRunning && !isSuspended {
            do throws(SluiceError) {
                let end = options.clock.uptime + Suspension.readingLimit
                work = try await remainingWorkUnlessSuspended(until: end)
            } catch {
                options.logger.debug("the work left is unknown", metadata: ["error": "\(error)"])
                work = .now
            }
        }
        await letGo()
        if let work { told(work) }
    }

    /// As ``suspend()``, without a word to who runs the broker in the background, as that is who calls.
    func letGo() async {
        guard wakeUps != nil || store.isReadOnly, !store.check.isForked else { return }
        await suspension.pass { [self] in
            guard !suspension.isOn, !suspension.isOver else { return }
            suspension.isOn = true
            // The watch holds no lock, but it could have the connection opened again.
            await store.lookout?.suspend()
            await wakeUps?.stop()
            await store.suspend()
        }
    }

    /// Opens the file again, writes what has waited, and goes on running.
    ///
    /// A broker that is not suspended goes on as it is. The file is opened as at first, with the same checks.
    /// What others have changed meanwhile is taken in.
    ///
    /// - Throws: What opening throws; the broker stays suspended then, and this can be called again.
    ///   ``SluiceError/Code/fileReplaced`` and ``SluiceError/Code/newerSchema`` are for good: what has waited
    ///   ends with them.
    public func resume() async throws(SluiceError) {
        try store.check.ensure()
        try await suspension.pass { [self] () async -> Result<Void, SluiceError> in
            guard suspension.isOn else { return .success(()) }
            do throws(SluiceError) {
                try await store.resume()
                suspension.isOn = false
            } catch {
                if error.endsBroker { suspension.isOn = false }
                return .failure(error)
            }
            await goOn()
            return .success(())
        }.get()
    }

    /// Whether ``suspend()`` was called, and ``resume()`` was not since.
    public var isSuspended: Bool { suspension.isOn }

    /// Ends a suspension for good, or has what waits end with what keeps the file from being opened.
    func resumeToClose() async {
        await suspension.pass { [self] in
            suspension.isOver = true
            guard suspension.isOn else { return }
            do throws(SluiceError) {
                try await store.resume()
            } catch {
                store.check.fail(error)
                // It fails once more, and by now for good.
                do { try await store.resume() } catch {}
            }
            suspension.isOn = false
        }
    }

    private func goOn() async {
        guard life.withLock({ $0.state == .running }) else { return }
        await begin()
        // Another process may have taken its queues over: the broker is to hear of it now.
        scheduler.schedule(.renewLease, within: .zero)
    }
}

extension Broker {
    func checkRole() throws(SluiceError) {
        try store.check.ensure()
        guard options.role != .run else { return }
        throw SluiceError(
            .wrongRole,
            "the broker was opened with the role \(options.role) and runs none: open it with the role run"
        )
    }

    /// Nothing can be done with the file any more; called on some thread, which must not be blocked.
    func fileFailed(_ error: SluiceError) {
        if isRunning { fail(error) }
    }
}

/// Whether a broker is suspended, and the calls that change it, one after the other.
final class Suspension: Sendable {
    private let value = Atomic(false)
    private let end = Atomic(false)
    private let last = Mutex<Task<Void, Never>?>(nil)
    private let executor: DispatchExecutor?
    private let listener = Mutex<Listener?>(nil)

    /// In a struct, so that it is not wrapped at each reading.
    private struct Listener {
        let tell: @Sendable (RemainingWork) -> Void
    }

    /// How long queues are read to find out what is left.
    static let readingLimit: Duration = .seconds(2)

    /// Who is told what is left when the broker is suspended that did not run.
    var told: (@Sendable (RemainingWork) -> Void)? { listener.withLock { $0?.tell } }

    func tell(_ tell: @escaping @Sendable (RemainingWork) -> Void) {
        listener.withLock { $0 = Listener(tell: tell) }
    }

    init(_ engine: EngineContext) { executor = engine.executor }

    /// Changed inside ``pass(_:)`` alone.
    var isOn: Bool {
        get { value.load(ordering: .acquiring) }
        set { value.store(newValue, ordering: .releasing) }
    }

    /// The broker closes, and is suspended no more; changed inside ``pass(_:)`` alone.
    var isOver: Bool {
        get { end.load(ordering: .acquiring) }
        set { end.store(newValue, ordering: .releasing) }
    }

    /// Does something behind all that was asked for before.
    func pass<Output: Sendable>(_ body: @escaping @Sendable () async -> Output) async -> Output {
        let task = last.withLock { last in
            let task = Task(executorPreference: executor) { [last] in
                await last?.value
                return await body()
            }
            last = Task(executorPreference: executor) { _ = await task.value }
            return task
        }
        return await task.value
    }
}
