#if CommandLineTool
internal import CSluiceCommands
internal import Sluice
internal import Synchronization
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Runs a command for each attempt; its exit status is the outcome.
struct CommandHandler: Sendable {
    /// Exit statuses with a meaning of their own, as in sysexits.h.
    private enum Status {
        static let success: Int32 = 0
        static let permanentFailure: Int32 = 65
        static let retry: Int32 = 75
    }

    let keeper: CommandKeeper
    /// How long a command may take to end after SIGTERM.
    let patience: Duration
    /// Whether an attempt ends with the command's first process, and not with the last that it has started.
    let leavesDescendants: Bool
    let stop: StopRequests
    let lacks = LackRemarks()
    private let hasRemarked = Flag()
    /// How long a command that has ended may leave processes without a remark; and how long its output and
    /// errors are read if they are silent and it leaves them.
    private static let silence: Duration = .seconds(1)

    init(keeper: CommandKeeper, patience: Duration, leavesDescendants: Bool, stop: StopRequests) {
        (self.keeper, self.patience, self.stop) = (keeper, patience, stop)
        self.leavesDescendants = leavesDescendants
    }

    func handle(_ payload: String, _ attempt: Attempt) async throws -> Outcome {
        try Task.checkCancellation()
        let (command, output, errors): (KeptCommand, CommandOutput, CommandOutput)
        do {
            (command, output, errors) = try await start(payload, attempt)
            lacks.hasStarted()
        } catch {
            guard let outcome = error.outcome else { throw error }
            lacks.remark(error)
            return outcome
        }
        let (lines, tail) = (OutputLines(), ErrorLines())
        let end = await withTaskCancellationHandler {
            let watch = Task {
                if !leavesDescendants { await awaitDescendants(of: command) }
                await leave([output, errors], to: command)
            }
            errors.begin(for: Terminal.errors) { tail.take($0) }
            await output.read(for: Terminal.output) { lines.take($0) }
            await errors.end()
            let end = await command.ended.wait()
            // Until then something of the attempt may still work on the action (G3).
            if !leavesDescendants { await command.gone.wait() }
            watch.cancel()
            return end
        } onCancel: {
            command.end([(.zero, SIGTERM), (patience, SIGKILL)])
            Task {
                await command.gone.wait()
                output.stop()
                errors.stop()
            }
        }
        if leavesDescendants {
            // The command's children may react to SIGTERM more slowly than the shell, or not at all.
            if Task.isCancelled { await command.gone.wait() } else { command.forget() }
        }
        let delay = lines.finish()
        return try await outcome(of: CommandEnded(end: end, errors: tail.tail, delay: delay))
    }

    /// Stops reading when the command has ended and others, which have a pipe open, write nothing.
    private func leave(_ outputs: [CommandOutput], to command: KeptCommand) async {
        _ = await command.ended.wait()
        var counts: [Int]
        repeat {
            counts = outputs.map(\.pieceCount)
            do { try await Task.sleep(for: Self.silence) } catch { return }
        } while counts != outputs.map(\.pieceCount) || outputs.contains(where: \.isPaused)
        for output in outputs { output.stop() }
        guard !hasRemarked.exchange(true) else { return }
        Terminal.remark(
            "a command has ended, but a process that it started still has its standard output or error "
                + "open: sluice does not wait for it, and its output is lost; redirect it"
        )
    }

    /// Waits for all that a command has started, and says once that the attempt lasts as long.
    private func awaitDescendants(of command: KeptCommand) async {
        _ = await command.ended.wait()
        let remark = Task {
            do { try await Task.sleep(for: Self.silence) } catch { return }
            guard !command.isEnding, !hasRemarked.exchange(true) else { return }
            Terminal.remark(
                "a command has ended, but processes that it started still run: its attempt lasts until they "
                    + "have ended; if they are to stay, as a daemon, give --leave-descendants"
            )
        }
        await command.gone.wait()
        remark.cancel()
    }

    private func start(
        _ payload: String,
        _ attempt: Attempt
    ) async throws(StartFailure) -> (KeptCommand, CommandOutput, CommandOutput) {
        // Written completely before the command starts, so that it never sees a partial payload.
        let input = try PayloadFile.make(payload)
        defer { try? input.close() }
        let output = try CommandOutput(keeper.outputs)
        defer { try? output.writing.close() }
        let errors: CommandOutput
        do {
            errors = try CommandOutput(keeper.outputs)
        } catch {
            output.discard()
            throw error
        }
        defer { try? errors.writing.close() }
        do {
            let command = try await keeper.start(
                Self.values(attempt),
                input: input,
                output: output,
                errors: errors
            )
            return (command, output, errors)
        } catch {
            output.discard()
            errors.discard()
            throw error
        }
    }

    private func outcome(of ended: CommandEnded) async throws -> Outcome {
        switch ended.end {
        case .exited(Status.success): return .success
        case .exited(Status.permanentFailure): return .fail(ended.description)
        // The retry policy has the delay.
        case .exited(Status.retry): throw ended
        default: break
        }
        // A signal that stops this process may reach the commands first; many then end with a status of their
        // own.
        if !Task.isCancelled, await stop.isNear(isLikely: ended.end.signal != nil) { return .release }
        throw CommandEnded(end: ended.end, errors: ended.errors, delay: nil)
    }

    /// Returns the values of ``CommandKeeper/variables``.
    private static func values(_ attempt: Attempt) -> [String] {
        [
            attempt.queue.rawValue, attempt.id.description, attempt.kind, String(attempt.number),
            attempt.idempotencyKey,
        ]
    }
}

/// Passes on the lines of a command, except those that are for the tool.
private final class OutputLines: Sendable {
    /// The longest line that is passed on.
    private static let maximumLineByteCount = 1_024 * 1_024

    private let state = Mutex(
        (splitter: LineSplitter(maximumByteCount: maximumLineByteCount), delay: nil as Duration?)
    )

    func take(_ piece: UnsafeRawBufferPointer) {
        state.withLock { state in
            var delay = state.delay
            state.splitter.take(piece) { Self.take($0, &delay) }
            state.delay = delay
        }
    }

    /// - Returns: The delay of the last line `retry-after: SECONDS`.
    func finish() -> Duration? {
        state.withLock { state in
            if let last = state.splitter.takeLast() { Self.take(last, &state.delay) }
            return state.delay
        }
    }

    private static func take(_ line: LineSplitter.Line, _ delay: inout Duration?) {
        switch line {
        case .tooLong:
            Terminal.remark("a command's line of more than \(maximumLineByteCount) bytes is left out")
        case .bytes(let bytes):
            if let seconds = retryAfter(bytes) { delay = seconds } else { Terminal.pass(bytes) }
        }
    }

    private static func retryAfter(_ line: [UInt8]) -> Duration? {
        let parts = String(decoding: line, as: UTF8.self).split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "retry-after" else { return nil }
        return Double(parts[1].trimmingSpaces).flatMap(Seconds.delay)
    }
}

/// Passes on the errors of a command unchanged, and keeps the last of them.
private final class ErrorLines: Sendable {
    private let state = Mutex(ErrorTail())

    var tail: ErrorTail { state.withLock { $0 } }

    func take(_ piece: UnsafeRawBufferPointer) {
        Terminal.passError(piece)
        state.withLock { $0.take(piece) }
    }
}

/// A flag that can be set once.
private final class Flag: Sendable {
    private let isSet = Atomic(false)

    /// - Returns: The previous value.
    func exchange(_ value: Bool) -> Bool { isSet.exchange(value, ordering: .acquiringAndReleasing) }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        return start[
            ..<(start.lastIndex { $0 != " " && $0 != "\t" }.map(start.index(after:)) ?? start.startIndex)
        ]
    }
}
#endif
