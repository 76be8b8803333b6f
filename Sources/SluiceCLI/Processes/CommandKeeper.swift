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

/// Starts commands through a helper process, so that no command outlives this process unnoticed (G3).
///
/// The helper, the keeper, is the parent of the commands. When this process ends, in any way, the keeper ends
/// the commands, then itself. The file's row of this process names the keeper. Until the keeper is gone, no
/// other process starts the actions of its commands.
final class CommandKeeper: Sendable {
    /// The environment variables of a command.
    static let variables = [
        "SLUICE_QUEUE", "SLUICE_ID", "SLUICE_KIND", "SLUICE_ATTEMPT", "SLUICE_IDEMPOTENCY_KEY",
    ]

    private struct State {
        var commands: [UInt64: KeptCommand] = [:]
        var last: UInt64 = 0
        var isClosed = false
    }

    /// The keeper's process, which outlives this process and its commands.
    let pid: pid_t
    /// Reads the output of commands; a slow consumer does not block others.
    let outputs: DescriptorWatch
    private let news: DescriptorWatch
    private let socket: Int32
    private let state = Mutex(State())
    /// One request at a time.
    private let requests = Mutex(())

    /// Starts the process.
    ///
    /// Call it before this process changes its signals and limits, since commands inherit them.
    ///
    /// - Parameters:
    ///   - command: The command for `/bin/sh -c`.
    ///   - capacity: The most commands at a time.
    ///   - patience: How long remaining commands may take to react to SIGTERM when this process is gone.
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
    ///   - values: The values of ``variables``.
    ///   - input: Its standard input.
    ///   - output: Its standard output.
    ///   - errors: Its standard error; `nil` is that of this process.
    func start(
        _ values: [String],
        input: FileDescriptor,
        output: CommandOutput,
        errors: CommandOutput?
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
                    output.writing.rawValue,
                    (errors?.writing ?? .standardError).rawValue,
                    output.reading.rawValue,
                    errors?.reading.rawValue ?? -1
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

    /// Stops tracking the remaining processes of a command that has ended.
    func forget(_ command: KeptCommand) {
        remove(command)
        _ = request { csluice_keeper_forget($0, command.number) }
    }

    /// Sends a signal to all processes of a command.
    func send(_ signal: Int32, to command: KeptCommand) {
        _ = request { csluice_keeper_signal($0, command.number, signal) }
    }

    /// Ends the keeper, which ends the remaining commands; returns when it is gone.
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

// MARK: - OutgoingChanges

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

    /// Kills the commands after the keeper was killed, since nothing reports their ends any more.
    ///
    /// This has the same effect as a kill of this process.
    private func lose() {
        let (isClosed, commands) = state.withLock { ($0.isClosed, Array($0.commands.values)) }
        guard !isClosed else { return }
        for command in commands { command.killGroup() }
        Terminal.remark("process \(pid), which keeps the commands of this one, has been killed; so are they")
        exit(ExitStatus.internalError.rawValue)
    }
}
#endif
