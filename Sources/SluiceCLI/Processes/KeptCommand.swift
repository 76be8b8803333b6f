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
/// The leading shell may end before its children: a cancelled attempt ends when the whole group is gone.
final class KeptCommand: Sendable {
    let number: UInt64
    /// 0, or the error number of a failed start.
    let started = Arrival<Int32>()
    /// The end of its first process.
    let ended = Arrival<CommandEnd>()
    /// Set when its group is empty.
    let gone = Arrival<Void>()

    private let keeper: CommandKeeper
    private let group = Mutex<pid_t?>(nil)
    private let ending = Atomic(false)

    /// Whether it was asked to end.
    var isEnding: Bool { ending.load(ordering: .relaxed) }

    init(number: UInt64, keeper: CommandKeeper) {
        self.number = number
        self.keeper = keeper
    }

    func begin(_ leader: pid_t) {
        group.withLock { $0 = leader }
    }

    /// Sends signals to the group, each after a wait, until it is gone.
    func end(_ steps: [(wait: Duration, signal: Int32)]) {
        ending.store(true, ordering: .relaxed)
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

    /// Abandons the processes that its first process has left.
    func forget() { keeper.forget(self) }

    /// Kills the group without the keeper.
    func killGroup() {
        if let group = group.withLock({ $0 }) { kill(-group, SIGKILL) }
    }
}
#endif
