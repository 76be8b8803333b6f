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

/// Starts commands by way of a process of its own, so that none of them outlives this one unseen (G3).
///
/// That process, the keeper, is the commands' parent. When this one has gone, however it ended, the keeper
/// ends the commands, and then itself. The file's row of this process names the keeper, and until it has gone
/// no other process starts what the commands were at.
final class CommandKeeper: Sendable {
    /// The variables that a command gets.
    static let variables = [
        "SLUICE_QUEUE", "SLUICE_ID", "SLUICE_KIND", "SLUICE_ATTEMPT", "SLUICE_IDEMPOTENCY_KEY",
    ]

    private struct State {
        var commands: [UInt64: KeptCommand] = [:]
        var last: UInt64 = 0
        var isClosed = false
    }

    /// The process, which is there until this one and its commands are not.
    let pid: pid_t
    /// Reads what commands write; whoever is slow to take that holds up nothing else.
    let outputs: DescriptorWatch
    private let news: DescriptorWatch
    private let socket: Int32
    private let state = Mutex(State())
    /// One request at a time.
    private let requests = Mutex(())

    /// Starts the process.
    ///
    /// To be called before the signals and limits of this one are changed: commands have those of now.
    ///
    /// - Parameters:
    ///   - command: What `/bin/sh -c` runs.
    ///   - capacity: The most commands at a time.
    ///   - patience: How long what is left when this process has gone may take to heed SIGTERM.
    init(command: String, capacity: Int, patience: Duration) throws {
        var (process, socket) = (pid_t(0), Int32(0))
        let names = Self.variables.map { strdup($0) }
        defer { for name in names { free(name) } }
        let code = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            csluice_keeper_start(
                command,
                names.baseAddress,
                Int32(capacity),
                Int32(clamping: patience.components.seconds * 1_000 + 1),
                &process,
                &socket
            )
        }
        guard code == 0 else { throw Failure(.cannotOpen, StartFailure(code: code).description) }
        (pid, self.socket) = (process, socket)
        do {
            (outputs, news) = (try DescriptorWatch(), try DescriptorWatch())
        } catch {
            throw Failure(.cannotOpen, error.description)
        }
        _ = news.add(FileDescriptor(rawValue: socket), read: { [self] in takeNews() ? .read : .end })
    }

    /// Starts the command.
    ///
    /// - Parameters:
    ///   - values: Those of ``variables``.
    ///   - input: Its standard input.
    ///   - output: Its standard output.
    func start(
        _ values: [String],
        input: FileDescriptor,
        output: FileDescriptor
    ) async throws(StartFailure) -> KeptCommand {
        let command = state.withLock { state in
            state.last += 1
            let command = KeptCommand(number: state.last, keeper: self)
            state.commands[state.last] = command
            return command
        }
        var text: [UInt8] = []
        for (name, value) in zip(Self.variables, values) { text += Array("\(name)=\(value)".utf8) + [0] }
        let code = request { socket in
            text.withUnsafeBytes {
                csluice_keeper_run(
                    socket,
                    command.number,
                    $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                    UInt32($0.count),
                    input.rawValue,
                    output.rawValue
                )
            }
        }
        if code != 0 { command.started.come(code) }
        let failure = await command.started.wait()
        guard failure == 0 else {
            remove(command)
            throw StartFailure(code: failure)
        }
        return command
    }

    /// Leaves alone what is left of a command that has ended.
    func forget(_ command: KeptCommand) {
        remove(command)
        _ = request { csluice_keeper_forget($0, command.number) }
    }

    /// Sends a signal to all of a command.
    func send(_ signal: Int32, to command: KeptCommand) {
        _ = request { csluice_keeper_signal($0, command.number, signal) }
    }

    /// Ends the process, which ends what commands are left; returns when it has.
    func close() {
        state.withLock { $0.isClosed = true }
        shutdown(socket, Int32(SHUT_WR))
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    }

    private func request(_ send: (Int32) -> Int32) -> Int32 {
        requests.withLock { _ in send(socket) }
    }

    private func remove(_ command: KeptCommand) {
        state.withLock { _ = $0.commands.removeValue(forKey: command.number) }
    }
}

// MARK: - News

extension CommandKeeper {
    /// - Returns: Whether there may be more.
    private func takeNews() -> Bool {
        var event = csluice_keeper_event()
        guard csluice_keeper_receive(socket, &event) > 0 else {
            lose()
            return false
        }
        guard let command = state.withLock({ $0.commands[event.command] }) else { return true }
        switch event.news {
        case CSLUICE_KEEPER_STARTED.rawValue:
            command.begin(event.value)
            command.started.come(0)
        case CSLUICE_KEEPER_FAILED.rawValue: command.started.come(event.value)
        case CSLUICE_KEEPER_ENDED.rawValue: command.ended.come(CommandEnd(waitStatus: event.value))
        default:
            command.gone.come(())
            remove(command)
        }
        return true
    }

    /// Somebody has killed the process: nothing tells any more of the commands, which are killed too.
    ///
    /// This is as if this process itself had been.
    private func lose() {
        let (isClosed, commands) = state.withLock { ($0.isClosed, Array($0.commands.values)) }
        guard !isClosed else { return }
        for command in commands { command.killGroup() }
        Terminal.remark("process \(pid), which keeps the commands of this one, has been killed; so are they")
        exit(ExitStatus.internalError.rawValue)
    }
}
#endif
