#if PostgreSQL
internal import Logging
package import Sluice
internal import Synchronization

extension ServerEngine {
    package func run() async throws {
        try life.withLock { life throws(SluiceError) in
            switch life.state {
            case .idle: (life.state, life.runs) = (.running, life.runs + 1)
            case .running: throw SluiceError(.alreadyRunning, "the broker runs already")
            case .closed: throw SluiceError(.closed, "the broker was closed")
            }
            runner.reset()
            loop.start()
        }
        defer { ended() }
        options.logger.info("the broker runs")
        let measuring = Task { await self.measure() }
        defer { measuring.cancel() }
        try await withTaskCancellationHandler {
            try await withGracefulStop {
                try await runToEnd()
            } onStop: { [self] in
                requestStop(grace: options.stopGrace)
            }
        } onCancel: {
            requestStop(grace: .zero)
        }
    }

    package func beginStop(grace: Duration) -> @Sendable () async -> Void {
        guard life.withLock({ $0.state == .running }) else { return {} }
        requestStop(grace: grace)
        return { [self] in await waitUntilEnded() }
    }

    private func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            let isOver = life.withLock { life in
                if life.state == .running { life.ended.append(continuation) }
                return life.state != .running
            }
            if isOver { continuation.resume() }
        }
    }

    /// Runs the loop to its end, whether the task is cancelled or not.
    private func runToEnd() async throws(SluiceError) {
        let result = await options.engine.detached { [loop] () async -> Result<Void, SluiceError> in
            do throws(SluiceError) {
                try await loop.run()
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    private func requestStop(grace: Duration) {
        loop.stop(givesUp: grace == .zero)
        if grace == .zero { return runner.cancelAll(.stop) }
        let runs = life.withLock { $0.runs }
        Task { [self] in
            do { try await options.clock.sleep(untilUptime: options.clock.uptime + grace) } catch { return }
            // A later run is none of this stop's.
            guard life.withLock({ $0.state == .running && $0.runs == runs }) else { return }
            loop.stop(givesUp: true)
            runner.cancelAll(.stop)
        }
    }

    /// Reports depths and ages as metrics, at once and then at intervals, if that is asked for.
    private func measure() async {
        guard let observer = runner.observer else { return }
        while !Task.isCancelled {
            do throws(SluiceError) {
                observer.record(try await measurement(of: observer.countedActions))
            } catch {
                options.logger.debug("reading for the metrics failed", metadata: ["error": "\(error)"])
            }
            let end = options.clock.uptime + observer.interval
            do { try await options.clock.sleep(untilUptime: end) } catch { return }
        }
    }

    private func ended() {
        let waiting = life.withLock { life in
            if life.state == .running { life.state = .idle }
            defer { life.ended = [] }
            return life.ended
        }
        options.logger.info("the broker has stopped")
        observers.poke(nil)
        for continuation in waiting { continuation.resume() }
    }

    var isRunning: Bool { life.withLock { $0.state == .running } }

    package func waitUntilIdle(_ form: QueuePattern.Form) async {
        await waitUntilIdle([QueuePattern(form.rawValue)], within: nil) { $0.noteIfLong(options.logger) }
    }

    /// How an action has ended that another process has settled is known while its deduplication key is kept.
    package func settled(_ action: ActionID) async throws -> ActionEnd {
        while true {
            try Task.checkCancellation()
            let (count, wasActive) = (loop.changes.count, loop.isActive(action))
            let state = try await self.action(action)
            switch state.phase {
            // The server has its end, and this process is about to have it.
            case .ended(.unknown) where wasActive || loop.isActive(action): break
            case .ended(let end): return end
            case .dead(let cause, _): return .deadLettered(cause)
            case .waiting, .scheduled, .running, .retrying, .parked:
                // A queue has one slot, which this handler has.
                guard let own = runner.ownAction, state.details?.queue == own.queue else { break }
                throw own.waitsForItself(action)
            }
            await loop.changes.next(since: count, within: server.pollInterval)
        }
    }
}
#endif
