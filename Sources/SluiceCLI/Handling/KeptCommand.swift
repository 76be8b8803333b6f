#if CommandLineTool
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A command that a ``CommandKeeper`` has started, as the leader of a process group.
///
/// The shell that leads it may end before what it has started: a cancelled attempt is over when all of it is.
final class KeptCommand: Sendable {
    let number: UInt64
    /// 0, or why it could not be started.
    let started = Arrival<Int32>()
    /// How its first process has ended.
    let ended = Arrival<CommandEnd>()
    /// Nothing of its group is left.
    let gone = Arrival<Void>()

    private let keeper: CommandKeeper
    private let group = Mutex<pid_t?>(nil)

    init(number: UInt64, keeper: CommandKeeper) {
        self.number = number
        self.keeper = keeper
    }

    func begin(_ leader: pid_t) {
        group.withLock { $0 = leader }
    }

    /// Sends signals to all of it, each when a duration has passed, until it has gone.
    func end(_ steps: [(wait: Duration, signal: Int32)]) {
        let task = Task {
            for step in steps {
                if step.wait > .zero {
                    do { try await Task.sleep(for: step.wait) } catch { return }
                }
                keeper.send(step.signal, to: self)
            }
        }
        Task {
            await gone.wait()
            task.cancel()
        }
    }

    /// Leaves alone what its first process has left.
    func forget() { keeper.forget(self) }

    /// Kills all of it, where there is no keeper any more.
    func killGroup() {
        if let group = group.withLock({ $0 }) { kill(-group, SIGKILL) }
    }
}

/// How a command has ended.
enum CommandEnd: Sendable, Hashable {
    case exited(Int32)
    case signaled(Int32)

    /// - Parameter status: That of waitpid(2).
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signaled(signal)
    }

    /// The signal that has ended it, also where a shell tells by its status of a program's.
    var signal: Int32? {
        switch self {
        case .signaled(let signal): signal
        case .exited(let code): Self.ends.contains(code - 128) ? code - 128 : nil
        }
    }

    /// Signals by which somebody ends programs.
    private static let ends = [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM]
}
#endif
