#if CommandLineTool
internal import Subprocess
internal import Synchronization
internal import SystemPackage

/// One run of a handler process: sends it lines, reads its answers, sees to its end.
final class HandlerSession: Sendable {
    private enum Ending {
        /// It may finish by itself.
        case gentle
        case forced
    }

    private let takeLines: @Sendable () -> String
    private let receive: @Sendable (PipeProtocol.Answer) -> Bool
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let endings: AsyncStream<Ending>
    private let end: AsyncStream<Ending>.Continuation
    private let answered = Mutex(false)

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - takeLines: Takes what is to be sent.
    ///   - receive: Gets an answer, and returns `false` when nothing is in work under its number.
    init(
        takeLines: @escaping @Sendable () -> String,
        receive: @escaping @Sendable (PipeProtocol.Answer) -> Bool
    ) {
        self.takeLines = takeLines
        self.receive = receive
        // One wake is enough for all lines that wait.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (endings, end) = AsyncStream.makeStream()
    }

    /// Whether the process has answered anything.
    var hasAnswered: Bool { answered.withLock { $0 } }

    /// Tells that there are lines to send.
    func linesWait() { wake.yield() }

    /// Ends the input of the process, and ends the process if it does not exit upon that.
    func close() { end.yield(.gentle) }

    /// Ends the process.
    func terminate() { end.yield(.forced) }

    /// A group of its own keeps the terminal's Ctrl-C away; cancelling sends SIGTERM, and SIGKILL when
    /// patience ends, to all of it.
    static func platformOptions(patience: Duration) -> PlatformOptions {
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [
            .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: patience)
        ]
        return options
    }

    /// Runs the command from its start to its end.
    func run(_ command: String, patience: Duration) async throws -> TerminationStatus {
        wake.yield()
        let group = ProcessGroup()
        let status = try await start(command, patience: patience, group)
        // What it had in work is retried: nothing of it may be at work still.
        await group.end(patience: patience)
        return status
    }

    private func start(
        _ command: String,
        patience: Duration,
        _ group: ProcessGroup
    ) async throws -> TerminationStatus {
        let result = try await Subprocess.run(
            .path("/bin/sh"),
            arguments: ["-c", command],
            platformOptions: Self.platformOptions(patience: patience),
            input: .inputWriter,
            output: .sequence,
            error: .currentStandardError
        ) { execution in
            group.begin(execution.processIdentifier.value)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.send(to: execution.standardInputWriter) }
                group.addTask { await self.seeToTheEnd(patience) { await execution.teardown(using: $0) } }
                await self.read(execution.standardOutput)
                // It has ended, or it can answer no more and is to end.
                self.close()
                self.end.finish()
            }
        }
        return result.terminationStatus
    }

    /// Sends what waits, in one write, until the session closes.
    private func send(to input: StandardInputWriter) async {
        for await _ in wakes {
            let lines = takeLines()
            guard !lines.isEmpty else { continue }
            // A process that does not read any more is noticed by the end of its output.
            _ = try? await input.write(Array(lines.utf8))
        }
        try? await input.finish()
    }

    private func seeToTheEnd(_ patience: Duration, _ teardown: ([TeardownStep]) async -> Void) async {
        let termination = Self.platformOptions(patience: patience).teardownSequence
        for await ending in endings {
            wake.finish()
            switch ending {
            case .gentle:
                // Signal 0 does nothing; it is here for the time that passes until the next step.
                let wait = TeardownStep.send(
                    signal: Signal(rawValue: 0),
                    allowedDurationToNextStep: patience
                )
                await teardown([wait] + termination)
            case .forced:
                await teardown(termination)
            }
            return
        }
    }

    private func read(_ output: SubprocessOutputSequence) async {
        var splitter = LineSplitter(maximumByteCount: PipeProtocol.maximumAnswerByteCount)
        var number = 0
        func take(_ line: LineSplitter.Line) {
            number += 1
            switch line {
            case .tooLong:
                complain(number, "it has more than \(PipeProtocol.maximumAnswerByteCount) bytes", [])
            case .bytes(let bytes): judge(bytes, number)
            }
        }
        do {
            for try await piece in output {
                piece.withUnsafeBytes { splitter.take($0, take) }
            }
        } catch {
            Terminal.remark("the handler's output cannot be read: \(error)")
        }
        if let last = splitter.takeLast() { take(last) }
    }

    private func judge(_ line: [UInt8], _ number: Int) {
        guard !line.isEmpty else { return }
        do throws(Refusal) {
            let answer = try PipeProtocol.answer(line)
            guard receive(answer) else { return complain(number, "nothing is in work under its id", line) }
            answered.withLock { $0 = true }
            if !answer.hasKnownOutcome {
                complain(number, "the outcome is unknown, the action is retried", line)
            }
        } catch {
            complain(number, error.reason, line)
        }
    }

    /// Reports a line, so that whoever writes the handler finds it.
    private func complain(_ number: Int, _ reason: String, _ line: [UInt8]) {
        let text = Visible.beginning(of: String(decoding: line, as: UTF8.self), count: 120)
        Terminal.remark("line \(number) of the handler is no answer: \(reason): \(text)")
    }
}
#endif
