#if CommandLineTool
internal import Sluice
internal import SluiceJSON
internal import Synchronization
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// One run of a handler process: sends lines, reads answers, and handles its end.
final class HandlerSession: Sendable {
    private enum Ending {
        /// The process may finish by itself.
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
    /// Splits its output into lines, and counts them.
    private let lines = Mutex(
        (splitter: LineSplitter(maximumByteCount: PipeProtocol.maximumAnswerByteCount), count: 0)
    )

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - takeLines: Returns the lines to send.
    ///   - receive: Handles an answer; returns `false` if there is no such attempt.
    init(
        takeLines: @escaping @Sendable () -> String,
        receive: @escaping @Sendable (PipeProtocol.Answer) -> Bool
    ) {
        self.takeLines = takeLines
        self.receive = receive
        // One wake-up is enough for all waiting lines.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (endings, end) = AsyncStream.makeStream()
    }

    /// Whether the process has answered anything.
    var hasAnswered: Bool { answered.withLock { $0 } }

    /// Notifies the session that there are lines to send.
    func linesWait() { wake.yield() }

    /// Closes the input of the process, and terminates the process if it does not exit.
    func close() { end.yield(.gentle) }

    /// Ends the process.
    func terminate() { end.yield(.forced) }

    /// Runs the command from its start to its end.
    func run(_ keeper: CommandKeeper, patience: Duration) async throws(StartFailure) -> CommandEnd {
        wake.yield()
        let (command, input, output) = try await start(keeper)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.send(to: input) }
            group.addTask { await self.seeToTheEnd(command, input, patience) }
            group.addTask {
                // Processes outside the group may keep the output open; do not wait for them.
                await command.gone.wait()
                output.stop()
            }
            await output.read { piece in
                self.lines.withLock { lines in lines.splitter.take(piece) { self.take($0, &lines.count) } }
            }
            lines.withLock { lines in
                if let last = lines.splitter.takeLast() { self.take(last, &lines.count, isCut: true) }
            }
            // It has ended; or it cannot answer any more and must end.
            self.close()
            _ = await command.ended.wait()
            // Its attempts are retried, so nothing of it may still run.
            command.end([(patience, SIGKILL)])
            await command.gone.wait()
            self.end.finish()
            self.wake.finish()
            input.stop()
        }
        return await command.ended.wait()
    }

    private func start(
        _ keeper: CommandKeeper
    ) async throws(StartFailure) -> (KeptCommand, CommandInput, CommandOutput) {
        let input = try CommandInput()
        defer { try? input.reading.close() }
        let output: CommandOutput
        do {
            output = try CommandOutput(keeper.outputs)
        } catch {
            await input.finish()
            throw error
        }
        defer { try? output.writing.close() }
        do {
            let command = try await keeper.start(
                [],
                input: input.reading,
                output: output,
                errors: nil
            )
            return (command, input, output)
        } catch {
            output.discard()
            await input.finish()
            throw error
        }
    }

    /// Sends waiting lines, in one write each time, until the session closes.
    private func send(to input: CommandInput) async {
        for await _ in wakes {
            let lines = takeLines()
            if !lines.isEmpty { await input.write(lines) }
        }
        await input.finish()
    }

    private func seeToTheEnd(_ command: KeptCommand, _ input: CommandInput, _ patience: Duration) async {
        for await ending in endings {
            wake.finish()
            switch ending {
            case .gentle: command.end([(patience, SIGTERM), (patience, SIGKILL)])
            case .forced:
                input.stop()
                command.end([(.zero, SIGTERM), (patience, SIGKILL)])
            }
            return
        }
    }

    /// - Parameter isCut: Whether the line lacks its end, and so is not an answer.
    private func take(_ line: LineSplitter.Line, _ number: inout Int, isCut: Bool = false) {
        number += 1
        switch line {
        case .tooLong(let beginning):
            refuse(beginning, number, "it has more than \(PipeProtocol.maximumAnswerByteCount) bytes", isCut)
        case .bytes(let bytes): judge(bytes, number, isCut: isCut)
        }
    }

    private func judge(_ line: [UInt8], _ number: Int, isCut: Bool) {
        let line =
            number == 1 && line.starts(with: JSONGrammar.byteOrderMark) ? Array(line.dropFirst(3)) : line
        guard !line.isEmpty else { return }
        do throws(Refusal) {
            let answer = try PipeProtocol.answer(line)
            guard receive(answer) else { return complain(number, "nothing is in work under its id", line) }
            answered.withLock { $0 = true }
            if !answer.hasKnownOutcome {
                complain(number, "the outcome is unknown, the action is retried", line)
            }
        } catch {
            refuse(line, number, error.reason, isCut)
        }
    }

    /// Reports an invalid answer and ends its attempt, which would not end otherwise.
    private func refuse(_ line: [UInt8], _ number: Int, _ reason: String, _ isCut: Bool) {
        complain(number, reason, line)
        guard !isCut, let id = PipeProtocol.subject(of: line) else { return }
        if receive(PipeProtocol.Answer(unreadable: reason, of: id)) { answered.withLock { $0 = true } }
    }

    /// Reports a line, for the author of the handler.
    private func complain(_ number: Int, _ reason: String, _ line: [UInt8]) {
        let text = Visible.beginning(of: String(decoding: line, as: UTF8.self), count: 120)
        Terminal.remark("line \(number) of the handler is no answer: \(reason): \(text)")
    }
}
#endif
