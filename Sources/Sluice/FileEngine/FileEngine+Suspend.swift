internal import Logging
internal import Synchronization

extension FileEngine {
    package func suspend() async {
        guard let report = suspension.workReport else { return await releaseFile() }
        // If the broker does not run, actions enqueued here are left for its next run.
        var work: RemainingWork?
        if !isRunning && !suspension.isOn {
            do throws(SluiceError) {
                work = try await remainingWorkUnlessSuspended()
            } catch {
                options.logger.debug("the work left is unknown", metadata: ["error": "\(error)"])
                work = .now
            }
        }
        await releaseFile()
        if let work { report(work) }
    }

    /// Suspends without reporting the work left.
    package func releaseFile() async {
        guard hasFile, !store.check.isForked else { return }
        await suspension.pass { [self] in
            guard !suspension.isOn, !suspension.isOver else { return }
            suspension.isOn = true
            // The watch holds no lock, but it could cause the connection to be opened again.
            await store.lookout?.suspend()
            await wakeUps?.stop()
            await store.suspend()
        }
    }

    package func resume() async throws(SluiceError) {
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
            if life.withLock({ $0.state == .running }) {
                await begin()
                // If another process has taken over its queues, the broker must learn it now.
                scheduler.schedule(.renewLease, within: .zero)
            }
            return .success(())
        }.get()
    }

    /// Ends a suspension for good; if the file cannot be opened, waiting calls end with that error.
    func resumeToClose() async {
        await suspension.pass { [self] in
            suspension.isOver = true
            guard suspension.isOn else { return }
            do throws(SluiceError) {
                try await store.resume()
            } catch {
                store.check.fail(error)
                // This fails again, now with a permanent error.
                do { try await store.resume() } catch {}
            }
            suspension.isOn = false
        }
    }

    /// Calls a closure with the work left when the broker is suspended while it does not run.
    package func onSuspension(_ report: @escaping @Sendable (RemainingWork) -> Void) {
        suspension.workReport = report
    }

    /// The executor of the engine's own work.
    package var engineExecutor: (any TaskExecutor)? { options.engine.executor }

    /// Whether a run is ending.
    package var isStopping: Bool { life.withLock { $0.state == .stopping } }

    /// Stops a running broker after a permanent failure of the file; called on any thread, must not block.
    func fileFailed(_ error: SluiceError) { if isRunning { fail(error) } }
}

extension FileEngine {
    /// Ends the broker in a test as a kill of its process does: nothing is written from now on.
    ///
    /// Handlers are cancelled and not waited for, and their outcomes are lost. The process's row and its
    /// claims stay in the file, which is closed without a checkpoint. Returns the epoch that has ended.
    package func crash() async -> Int64? {
        let epoch = store.runners.epoch
        // This stops a running broker too; a group that is being committed is committed.
        store.check.fail(SluiceError(.closed, "the broker was crashed by its test"))
        scheduler.silence()
        await wakeUps?.stop()
        await store.close()
        observers.end()
        return epoch
    }
}
