#if CommandLineTool
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
    /// What it has written, and how many lines that was.
    private let lines = Mutex(
        (splitter: LineSplitter(maximumByteCount: PipeProtocol.maximumAnswerByteCount), count: 0)
    )

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

    /// Runs the command from its start to its end.
    func run(_ keeper: CommandKeeper, patience: Duration) async throws(StartFailure) -> CommandEnd {
        wake.yield()
        let (command, input, output) = try await start(keeper)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.send(to: input) }
            group.addTask { await self.seeToTheEnd(command, input, patience) }
            group.addTask {
                // Nobody waits for what a process outside the group has open.
                await command.gone.wait()
                output.stop()
            }
            await output.read { piece in
                self.lines.withLock { lines in lines.splitter.take(piece) { self.take($0, &lines.count) } }
            }
            lines.withLock { lines in
                if let last = lines.splitter.takeLast() { self.take(last, &lines.count, isCut: true) }
            }
            // It has ended, or it can answer no more and is to end.
            self.close()
            _ = await command.ended.wait()
            // What it had in work is retried: nothing of it may be at work still.
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
            let command = try await keeper.start([], input: input.reading, output: output.writing)
            return (command, input, output)
        } catch {
            output.discard()
            await input.finish()
            throw error
        }
    }

    /// Sends what waits, in one write, until the session closes.
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

    /// - Parameter isCut: Its end was not written: half an answer is none.
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

    /// Reports what is no answer, and ends the attempt that it is about: nothing else would.
    private func refuse(_ line: [UInt8], _ number: Int, _ reason: String, _ isCut: Bool) {
        complain(number, reason, line)
        guard !isCut, let id = PipeProtocol.subject(of: line) else { return }
        if receive(PipeProtocol.Answer(unreadable: reason, of: id)) { answered.withLock { $0 = true } }
    }

    /// Reports a line, so that whoever writes the handler finds it.
    private func complain(_ number: Int, _ reason: String, _ line: [UInt8]) {
        let text = Visible.beginning(of: String(decoding: line, as: UTF8.self), count: 120)
        Terminal.remark("line \(number) of the handler is no answer: \(reason): \(text)")
    }
}
#endif
