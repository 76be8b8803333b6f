#if CommandLineTool
internal import Sluice

/// The work that a run has left.
enum Leftovers {
    /// Reports the remaining work on standard error, and returns its exit status.
    ///
    /// Work that needs an operator comes before work that needs only more time.
    ///
    /// - Parameters:
    ///   - patterns: The queues of the run.
    ///   - isLimited: Whether the time was limited; work that needs more time then has a status of its own.
    static func report(
        _ broker: Broker,
        _ patterns: [QueuePattern],
        isLimited: Bool
    ) async throws -> ExitStatus {
        let left = try await broker.engine.workLeft(patterns, isEnough: false)
        let stuck = stuckWords(left)
        if let stuck { Terminal.remark(stuck) }
        switch left.next {
        case .none: break
        case .now: Terminal.remark("work is left that could run")
        case .later(let delay):
            Terminal.remark("work is left; the first is due in \(Times.span(delay))")
        }
        if left.elsewhereCount > 0 {
            Terminal.remark("\(queues(left.elsewhereCount)) an action that runs in another process")
        }
        if stuck != nil { return .leftover }
        guard left.next != .none || left.elsewhereCount > 0 else { return .success }
        return isLimited ? .unfinished : .leftover
    }

    /// Returns which actions need a person; `nil` if none does.
    static func stuckWords(_ left: WorkLeft) -> String? {
        let stuck = WorkLeft.obstacles.reduce(0) { $0 + left.count($1) }
        return stuck > 0 ? "\(queues(stuck)) actions: \(obstacles(left)); see `sluice queues`" : nil
    }

    /// Reports the reason of a long wait of an idle run.
    ///
    /// - Parameter isLimited: Whether the run may end before.
    /// - Returns: Whether it was reported.
    static func tell(_ wait: IdleWait, isLimited: Bool) -> Bool {
        guard wait.isLong else { return false }
        let time = wait.delay.map { "the first is due in \(Times.span($0))" } ?? "another process runs it"
        let work = isLimited ? "work for later" : "work for later, which is waited for"
        Terminal.remark("\(queues(wait.queueCount)) \(work): \(time)")
        return true
    }

    private static func queues(_ count: Int) -> String {
        count == 1 ? "1 queue still has" : "\(count) queues still have"
    }

    private static func obstacles(_ left: WorkLeft) -> String {
        WorkLeft.obstacles.filter { left.count($0) > 0 }
            .map { obstacle in
                let count = left.count(obstacle)
                return switch obstacle {
                case .unknownKind: "\(count) of an unknown kind"
                case .gate: "\(count) at a closed gate"
                default: "\(count) \(obstacle.rawValue)"
                }
            }
            .joined(separator: ", ")
    }
}

extension Broker {
    /// Reports the owners of actions that wait for something which cannot be seen in the file's queues: the
    /// end of commands of a killed run, or of the lease of a process elsewhere, which may have gone.
    func remarkOnOwners() async {
        // A server names the worker of each queue, and its lease is longer than its commands live.
        guard let engine = engine as? FileEngine else { return }
        guard let runners = try? await engine.store.runningProcesses() else { return }
        for runner in runners {
            if let keeper = runner.keeper {
                Terminal.remark(
                    "process \(runner.pid), which ran the queues, has died: its actions wait until process "
                        + "\(keeper) has ended its commands"
                )
            } else if runner.lives == nil, runner.runningCount > 0, !runner.isLeaseOver {
                let actions = runner.runningCount == 1 ? "1 action" : "\(runner.runningCount) actions"
                Terminal.remark(
                    "process \(runner.pid), in another container or on another machine, runs \(actions); if "
                        + "it has gone, others run them when its lease ends, at \(runner.leaseUntil.iso8601)"
                )
            }
        }
    }
}
#endif
