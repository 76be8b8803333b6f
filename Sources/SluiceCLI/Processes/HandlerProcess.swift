#if CommandLineTool
internal import Sluice
internal import Synchronization

/// A long-lived handler process, started on demand and restarted when it ends.
final class HandlerProcess: Sendable {
    /// The first pause after an end; it doubles each time the process ends without an answer.
    static let firstRestartDelay: Duration = .milliseconds(100)
    static let longestRestartDelay: Duration = .seconds(30)

    private struct State {
        var attempts = PendingAttempts()
        var session: HandlerSession?
        var isClosed = false
        /// Resumed when there is something to send.
        var demand: CheckedContinuation<Void, Never>?
        /// The pause before the next start.
        var pause: Task<Void, Never>?
    }

    /// How long the process may take to react to a cancellation, SIGTERM, or the end of its input.
    private let patience: Duration
    private let stop: StopRequests?
    private let lacks = LackRemarks()
    private let state = Mutex(State())

    init(patience: Duration, stop: StopRequests? = nil) {
        self.patience = patience
        self.stop = stop
    }

    /// Performs an attempt in the process.
    ///
    /// When the task is cancelled, the process is notified. The call returns only when the process has
    /// answered or ended, because until then it may still work on the action.
    func handle(_ payload: String, _ attempt: Attempt) async throws -> Outcome {
        let id = attempt.id.rawValue
        let request = PipeProtocol.request(payload, attempt)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isAdded = state.withLock { state in
                    // Checked inside the lock that `cancel` takes after the task was cancelled: either it
                    // finds the attempt, or the attempt is never added.
                    if Task.isCancelled { return false }
                    state.attempts.add(id, attempt.number, request, continuation)
                    return true
                }
                if isAdded { linesWait() } else { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Runs the process and restarts it, until ``close()``.
    func serve(by keeper: CommandKeeper) async {
        var delay: Duration = .zero
        while await waitForDemand() {
            if delay > .zero { await pause(delay) }
            guard !state.withLock({ $0.isClosed }) else { return }
            let hasAnswered = await runSession(keeper)
            delay =
                hasAnswered || delay == .zero
                ? Self.firstRestartDelay : min(delay * 2, Self.longestRestartDelay)
        }
    }

    /// Ends the process: closes its input, and terminates it if it does not exit.
    func close() {
        let (session, demand, pause) = state.withLock { state in
            state.isClosed = true
            defer { state.demand = nil }
            return (state.session, state.demand, state.pause)
        }
        session?.close()
        pause?.cancel()
        demand?.resume()
    }
}

// MARK: - Waiting

extension HandlerProcess {
    /// - Returns: `false` when the handler has been closed.
    private func waitForDemand() async -> Bool {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isClosed || state.attempts.hasLines { return true }
                state.demand = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
        return state.withLock { !$0.isClosed }
    }

    private func linesWait() {
        let (session, demand) = state.withLock { state in
            defer { state.demand = nil }
            return (state.session, state.demand)
        }
        session?.linesWait()
        demand?.resume()
    }

    private func pause(_ delay: Duration) async {
        let pause = Task<Void, Never> { try? await Task.sleep(for: delay) }
        let isClosed = state.withLock { state in
            state.pause = pause
            return state.isClosed
        }
        if isClosed { pause.cancel() }
        await pause.value
    }

    private func cancel(_ id: Int64) {
        let patience = Task<Void, Never> { [weak self, patience] in
            do { try await Task.sleep(for: patience) } catch { return }
            self?.losePatience(id)
        }
        switch state.withLock({ $0.attempts.cancel(id, patience) }) {
        case .told:
            linesWait()
        case .over(let continuation):
            patience.cancel()
            continuation.resume(throwing: CancellationError())
        case .unknown:
            patience.cancel()
        }
    }

    private func losePatience(_ id: Int64) {
        let session = state.withLock { $0.attempts.isInWork(id) ? $0.session : nil }
        guard let session else { return }
        Terminal.remark("the handler has not answered the cancellation of action \(id); it is ended")
        session.terminate()
    }
}

// MARK: - A process

extension HandlerProcess {
    /// Runs one process from its start to its end.
    ///
    /// - Returns: Whether it has answered at all.
    private func runSession(_ keeper: CommandKeeper) async -> Bool {
        let session = HandlerSession(
            takeLines: { [self] in state.withLock { $0.attempts.takeLines() } },
            receive: { [self] answer in finish(answer) }
        )
        let isClosed = state.withLock { state in
            state.session = session
            return state.isClosed
        }
        if isClosed { session.close() }
        let end: CommandEnd
        do {
            end = try await session.run(keeper, patience: patience)
            lacks.hasStarted()
        } catch {
            couldNotStart(error)
            // A lack of resources has its own pause.
            return error.outcome != nil
        }
        let (cut, wasClosed) = state.withLock { state in
            state.session = nil
            return (state.attempts.finishAllInWork(), state.isClosed)
        }
        let error = HandlerError(end)
        // A signal that stops this process may reach the handler first.
        var isReleased = false
        if let stop, !cut.isEmpty { isReleased = await stop.isNear(isLikely: true) }
        if !wasClosed {
            let actions =
                cut.count == 1 ? "1 action in work, which is" : "\(cut.count) actions in work, which are"
            Terminal.remark("\(error); it had \(actions) \(isReleased ? "given back" : "retried")")
        }
        for continuation in cut {
            if isReleased {
                continuation.resume(returning: .release)
            } else {
                continuation.resume(throwing: error)
            }
        }
        return session.hasAnswered
    }

    /// Gives back the attempts that wait for a process that cannot be started.
    private func couldNotStart(_ failure: StartFailure) {
        let waiting = state.withLock { state in
            state.session = nil
            return state.attempts.finishAll()
        }
        if failure.outcome != nil { lacks.remark(failure) }
        for continuation in waiting {
            if let outcome = failure.outcome {
                continuation.resume(returning: outcome)
            } else {
                continuation.resume(throwing: failure)
            }
        }
    }

    /// Ends the attempt that an answer is for.
    ///
    /// - Returns: `false` if there is none.
    private func finish(_ answer: PipeProtocol.Answer) -> Bool {
        guard let continuation = state.withLock({ $0.attempts.finish(answer.id, answer.attempt) }) else {
            return false
        }
        continuation.resume(with: answer.result.mapError { $0 })
        return true
    }
}
#endif
